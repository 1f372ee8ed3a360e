module lean

go 1.19
