package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	// Its messages are found by their names.
	_ "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"k8s.io/klog/v2"
)

// A translator makes kubelet's CSI calls on the driver, with paths below one folder named as below another. Nothing
// else is changed: it dials as kubelet does, with the same version of gRPC, hands on deadlines, and hands back errors.
type translator struct {
	// driver is its socket.
	driver   string
	from, to string
	// publishesNothing is what a harness has to find out.
	publishesNothing bool
}

// translate serves CSI on the socket listen.
func translate(listen string, t translator) error {
	// A kubelet that was killed has left its socket.
	if err := os.Remove(listen); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", listen)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(t.call))
	go func() { klog.Fatal(server.Serve(listener)) }()
	return nil
}

// dialAsKubelet says localhost as kubelet does (pkg/volume/csi of Kubernetes, newGrpcConn).
func dialAsKubelet(socket string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+socket,
		grpc.WithAuthority("localhost"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, target string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", target)
		}))
}

func (t *translator) call(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	request, response, err := messages(method)
	if err != nil {
		return status.Error(codes.Unimplemented, err.Error())
	}
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	if t.publishesNothing && method == "/csi.v1.Node/NodePublishVolume" {
		return stream.SendMsg(response)
	}
	t.rename(request.ProtoReflect())
	conn, err := dialAsKubelet(t.driver)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Invoke(stream.Context(), method, request, response); err != nil {
		return err
	}
	return stream.SendMsg(response)
}

// rename translates the paths of a request, which CSI names staging_target_path, target_path and volume_path.
func (t *translator) rename(request protoreflect.Message) {
	request.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if strings.HasSuffix(string(field.Name()), "_path") {
			request.Set(field, protoreflect.ValueOfString(t.onNode(value.String())))
		}
		return true
	})
}

func (t *translator) onNode(path string) string {
	below, found := strings.CutPrefix(path, t.from)
	if !found {
		return path
	}
	return t.to + strings.ReplaceAll(below, "/", `\`)
}

// messages makes the request and the response of a method, /csi.v1.Node/NodeGetInfo say.
func messages(method string) (proto.Message, proto.Message, error) {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, nil, err
	}
	described, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, nil, fmt.Errorf("%s is no method", name)
	}
	request, err := message(described.Input())
	if err != nil {
		return nil, nil, err
	}
	response, err := message(described.Output())
	return request, response, err
}

func message(described protoreflect.MessageDescriptor) (proto.Message, error) {
	found, err := protoregistry.GlobalTypes.FindMessageByName(described.FullName())
	if err != nil {
		return nil, err
	}
	return found.New().Interface(), nil
}
