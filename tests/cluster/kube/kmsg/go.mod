module github.com/euank/go-kmsg-parser

go 1.26.0
