module kahn-bench-go

go 1.22
