module share

go 1.19
