package clients

import (
	"os"
	"testing"

	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
)

// The share of the simulated node, and who may use it.
var (
	share    = os.Getenv("WINCSI_SHARE")
	user     = os.Getenv("WINCSI_USER")
	password = os.Getenv("WINCSI_PASSWORD")
)

// csi-driver-smb stages a share in one call and unstages it in two.
func TestALifeOfAShare(t *testing.T) {
	files := filesystemV1{dialFilesystemV1(t)}
	shares := dialSmbV1(t)
	ctx := deadline(t)
	link := freshPath(t)
	request := &smbv1.NewSmbGlobalMappingRequest{
		RemotePath: share,
		LocalPath:  link,
		Username:   user,
		Password:   password,
	}
	_, err := shares.NewSmbGlobalMapping(ctx, withPassword(request, password+"-not"))
	if err == nil {
		t.Fatal("NewSmbGlobalMapping with a wrong password succeeded")
	}
	wantExists(t, files, link, false)
	_, err = shares.NewSmbGlobalMapping(ctx, request)
	must(t, "NewSmbGlobalMapping", err)
	wantLink(t, files, link, true)
	// A share is not inside: what is in it is the driver's to reach, as the pod does.
	inside := link + `\made-by-` + t.Name()
	wantRefusal(t, "Mkdir in the share", files.mkdir(ctx, inside), "leads out of the working directories")

	must(t, "Rmdir with force of the link", files.rmdir(ctx, link, true))
	wantExists(t, files, link, false)
	_, err = shares.RemoveSmbGlobalMapping(ctx, &smbv1.RemoveSmbGlobalMappingRequest{RemotePath: share})
	must(t, "RemoveSmbGlobalMapping", err)
	_, err = shares.RemoveSmbGlobalMapping(ctx, &smbv1.RemoveSmbGlobalMappingRequest{RemotePath: share})
	// democratic-csi reads this text as "was not mapped".
	wantRefusal(t, "RemoveSmbGlobalMapping again", err, "No MSFT_SmbGlobalMapping objects found")
}

func withPassword(request *smbv1.NewSmbGlobalMappingRequest, password string) *smbv1.NewSmbGlobalMappingRequest {
	return &smbv1.NewSmbGlobalMappingRequest{
		RemotePath: request.RemotePath,
		LocalPath:  request.LocalPath,
		Username:   request.Username,
		Password:   password,
	}
}
