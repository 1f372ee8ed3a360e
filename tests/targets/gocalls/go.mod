module gocalls

go 1.19
