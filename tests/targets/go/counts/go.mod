module counts

go 1.19
