module github.com/wincsi/wincsi/tests/go

go 1.26.0

require (
	github.com/Microsoft/go-winio v0.6.4
	github.com/golang/protobuf v1.5.4
	github.com/kubernetes-csi/csi-proxy/client v1.3.0
	golang.org/x/net v0.62.0
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/pkg/errors v0.9.1 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
)
