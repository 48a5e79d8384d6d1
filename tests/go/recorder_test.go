package clients

import (
	"slices"
	"strings"
	"sync"
	"testing"

	protov1 "github.com/golang/protobuf/proto"
	"google.golang.org/grpc/encoding"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// The clients' constructors take no interceptors, so what was answered is seen where every answer
// passes: in the codec. Each RPC has an answer of its own type, which names it; an error has none.

func init() {
	encoding.RegisterCodec(recorder{})
}

var answered sync.Map

// recorder is grpc-go's own codec, but that it notes the types of what is read.
type recorder struct{}

func (recorder) Name() string { return "proto" }

func (recorder) Marshal(message interface{}) ([]byte, error) {
	return proto.Marshal(current(message))
}

func (recorder) Unmarshal(data []byte, message interface{}) error {
	answer := current(message)
	err := proto.Unmarshal(data, answer)
	if err == nil {
		answered.Store(answer.ProtoReflect().Descriptor().FullName(), true)
	}
	return err
}

// current is a message of generated code of any age: some of the clients' is older than today's API.
func current(message interface{}) proto.Message {
	return protov1.MessageV2(message)
}

func forgetAnswers() {
	answered.Range(func(name, _ interface{}) bool {
		answered.Delete(name)
		return true
	})
}

// wantEveryRPCAnswered holds what was answered against the descriptors that the client brings.
func wantEveryRPCAnswered(t *testing.T) {
	rpcs := rpcsOfTheDescriptors()
	if len(rpcs) != rpcsOfTheClient {
		t.Errorf("%d RPCs are imported, the client has %d", len(rpcs), rpcsOfTheClient)
	}
	var missing []string
	for answer, rpc := range rpcs {
		if _, ok := answered.Load(answer); !ok {
			missing = append(missing, rpc)
		}
	}
	slices.Sort(missing)
	if len(missing) != 0 {
		t.Errorf("never answered but by an error, or never called: %s", strings.Join(missing, ", "))
	}
}

// rpcsOfTheDescriptors has the method of every RPC of every group and version, by its answer's type.
func rpcsOfTheDescriptors() map[protoreflect.FullName]string {
	found := map[protoreflect.FullName]string{}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(string(file.Package()), "v") {
			addRPCs(found, file.Services())
		}
		return true
	})
	return found
}

func addRPCs(found map[protoreflect.FullName]string, services protoreflect.ServiceDescriptors) {
	for i := 0; i < services.Len(); i++ {
		methods := services.Get(i).Methods()
		for j := 0; j < methods.Len(); j++ {
			found[methods.Get(j).Output().FullName()] = string(methods.Get(j).FullName())
		}
	}
}
