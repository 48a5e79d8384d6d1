// Package clients drives csi-proxy with the official Go clients.
//
// On Windows (and under Wine) the clients' own constructors are used, so that everything that a
// driver does happens here too: the bare probe connection that is never closed, the pipe path as
// gRPC target, the lazy second connection. On Linux the same calls go through the clients' stubs
// and a dialer that opens the Unix socket of the group and version; the target stays the pipe path,
// so that each release of grpc-go puts its own form of it into the :authority header.
//
// The folder has three sets of module versions, because the forms differ:
//
//	go.mod            client 1.3.0 with a current grpc-go: a percent-encoded authority
//	client-1.3.0.mod  client 1.3.0 with the grpc-go 1.38 that it names itself: raw backslashes
//	client-1.0.1.mod  client 1.0.1 with the grpc-go 1.27 that it names itself: raw backslashes
//
// The tests are told where they run by environment variables:
//
//	WINCSI_KUBELET   the kubelet folder as the server names it
//	WINCSI_NODE      the folder of the simulated node that the server serves
//	WINCSI_SOCKETS   the folder of the sockets csi-proxy-GROUP-VERSION.sock (Linux only)
//	WINCSI_SHARE     a share of the node's SMB server, with WINCSI_USER and WINCSI_PASSWORD
//	WINCSI_SERVER    the program, for the tests that start it themselves (TestClientsOutliveTheProxy,
//	                 TestNoCallIsLostWhenIdleConnectionsEnd)
//
// Every test finds its way by the version's own names: adapters (diskV1beta1, ...) give each version of
// a group the same methods, and one life is lived through each (TestEveryRPCOfEveryVersion). That test
// ends by holding what was answered against the descriptors of the client's generated code.
//
// Without WINCSI_KUBELET only the tests that need no server run. `cargo xtask test` starts the
// server and sets the variables.
package clients
