package clients

import (
	"context"
	"os"
	"testing"
)

// The share of the simulated node, and who may use it.
var (
	share    = os.Getenv("WINCSI_SHARE")
	user     = os.Getenv("WINCSI_USER")
	password = os.Getenv("WINCSI_PASSWORD")
)

// shares is what every version of the group offers.
type shares interface {
	add(ctx context.Context, remote, local, user, password string) error
	remove(ctx context.Context, remote string) error
}

var smbVersions = map[string]func(*testing.T) shares{
	"v1":       func(t *testing.T) shares { return smbV1{dialSmbV1(t)} },
	"v1alpha1": func(t *testing.T) shares { return smbV1alpha1{dialSmbV1alpha1(t)} },
	"v1beta1":  func(t *testing.T) shares { return smbV1beta1{dialSmbV1beta1(t)} },
	"v1beta2":  func(t *testing.T) shares { return smbV1beta2{dialSmbV1beta2(t)} },
}

// csi-driver-smb stages a share in one call and unstages it in two.
func lifeOfAShare(t *testing.T, shares shares) {
	files := filesystemV1{dialFilesystemV1(t)}
	ctx := deadline(t)
	link := freshPath(t)
	wrong := password + "-not"
	if err := shares.add(ctx, share, link, user, wrong); err == nil {
		t.Fatal("NewSmbGlobalMapping with a wrong password succeeded")
	}
	wantExists(t, files, link, false)
	must(t, "NewSmbGlobalMapping", shares.add(ctx, share, link, user, password))
	wantLink(t, files, link, true)
	// A mapping that answers is reused, whatever password comes: so this shows that there is one.
	must(t, "NewSmbGlobalMapping of a mapped share", shares.add(ctx, share, "", user, wrong))
	// A share is not inside: what is in it is the driver's to reach, as the pod does.
	inside := link + `\made-by-a-driver`
	wantRefusal(t, "Mkdir in the share", files.mkdir(ctx, inside), "leads out of the working directories")

	must(t, "Rmdir with force of the link", files.rmdir(ctx, link, true))
	wantExists(t, files, link, false)
	must(t, "RemoveSmbGlobalMapping", shares.remove(ctx, share))
	// democratic-csi reads this text as "was not mapped".
	wantRefusal(t, "RemoveSmbGlobalMapping again", shares.remove(ctx, share), "No MSFT_SmbGlobalMapping objects found")
	if err := shares.add(ctx, share, "", user, wrong); err == nil {
		t.Error("a wrong password is good enough after RemoveSmbGlobalMapping")
	}
}

// withoutErrorField is the error of a call whose answer has an error field, too, which csi-proxy
// never filled.
func withoutErrorField(answer interface{ GetError() string }, err error) error {
	if text := answer.GetError(); text != "" {
		return filledErrorField(text)
	}
	return err
}

// filledErrorField is never wanted, not even where an error is.
type filledErrorField string

func (f filledErrorField) Error() string {
	return "the answer's error field says " + string(f)
}
