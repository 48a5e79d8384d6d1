package clients

import (
	"slices"
	"strings"
	"testing"

	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// The trailer that csi-proxy does not have: our server names the condition of an error in it, for our own client.
const condition = "wincsi-condition"

// Drivers read the code and the text of an error, and go on with the same client.
func TestTheTrailerOfAnErrorChangesNothingForTheClients(t *testing.T) {
	path := freshPath(t)
	client := filesystemv1.NewFilesystemClient(connect(t, "filesystem", "v1"))
	var trailer metadata.MD
	remove := func() error {
		trailer = nil
		_, err := client.Rmdir(deadline(t), &filesystemv1.RmdirRequest{Path: path}, grpc.Trailer(&trailer))
		return err
	}
	mkdir := func() {
		_, err := client.Mkdir(deadline(t), &filesystemv1.MkdirRequest{Path: path})
		must(t, "Mkdir", err)
	}
	mkdir()
	must(t, "Rmdir", remove())
	if got := trailer[condition]; got != nil {
		t.Errorf("%s of a success: %q, want none", condition, got)
	}
	for range 2 {
		err := remove()
		wantRefusal(t, "Rmdir of nothing", err, "The system cannot find the file specified")
		if got := trailer[condition]; !slices.Equal(got, []string{"not-found"}) {
			t.Errorf("%s of an error: %q, want not-found", condition, got)
		}
		read := status.Convert(err).Proto()
		if strings.Contains(read.GetMessage(), condition) || len(read.GetDetails()) != 0 {
			t.Errorf("the client reads %v, want a code and a text only", read)
		}
	}
	mkdir()
}
