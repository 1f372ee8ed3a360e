module golib

go 1.19
