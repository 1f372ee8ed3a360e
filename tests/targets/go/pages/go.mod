module pages

go 1.18
