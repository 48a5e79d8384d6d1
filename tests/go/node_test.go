package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// node is a path in the folder that the simulated node lives in. What somebody does to hardware is
// done there, and what came of a call is seen there, past the server.
func node(parts ...string) string {
	return filepath.Join(append([]string{os.Getenv("WINCSI_NODE")}, parts...)...)
}

// drive is a disk that a test plugs into the node.
type drive struct {
	name, serial, page83 string
	at                   place
}

var plugged atomic.Int32

// plug puts a new disk of zeros into the node; it goes with the test.
func plug(t *testing.T, length int64) drive {
	t.Helper()
	slot := plugged.Add(1)
	d := drive{
		name:   fmt.Sprintf("go-%d", slot),
		serial: fmt.Sprintf("GOCLIENT%04d", slot),
		page83: fmt.Sprintf("600224800000000000000000%08x", slot),
		at:     place{adapter: "2", bus: "0", target: text(uint32(slot)), lun: text(uint32(slot + 1))},
	}
	must(t, "make a disk", os.WriteFile(d.image(), nil, 0o600))
	d.setLength(t, length)
	must(t, "plug a disk in", os.WriteFile(d.file(), []byte(d.specification()), 0o600))
	t.Cleanup(func() { d.pullOut() })
	return d
}

func (d drive) specification() string {
	return fmt.Sprintf(`bus = "sas"
serial = %q
sector-size = 512
arrives = "online"

[address]
adapter = %s
port = 0
target = %s
lun = %s

[[identifier]]
kind = "naa"
of = "device"
value = %q
`, d.serial, d.at.adapter, d.at.target, d.at.lun, d.page83)
}

func (d drive) file() string  { return node("disks", d.name+".toml") }
func (d drive) image() string { return node("disks", d.name+".img") }

func (d drive) setLength(t *testing.T, length int64) {
	t.Helper()
	must(t, "change a disk's length", os.Truncate(d.image(), length))
}

func (d drive) pullOut() {
	os.Remove(d.file())
	os.Remove(d.image())
}

// number has the node look for its disks, and is the number that it gave this one.
func (d drive) number(t *testing.T) uint32 {
	t.Helper()
	rescan(t)
	ids, err := dialDiskV1(t).ListDiskIDs(deadline(t), &diskv1.ListDiskIDsRequest{})
	must(t, "ListDiskIDs", err)
	for number, id := range ids.DiskIDs {
		if id.SerialNumber == d.serial {
			return number
		}
	}
	t.Fatalf("no disk %s among %v", d.serial, ids.DiskIDs)
	return 0
}

func rescan(t *testing.T) {
	t.Helper()
	must(t, "Rescan", diskV1{dialDiskV1(t)}.rescan(deadline(t)))
}

// volumeFolder is where the files of a volume are kept.
func volumeFolder(id string) string {
	guid := strings.TrimSuffix(strings.TrimPrefix(id, `\\?\Volume{`), `}\`)
	return node("volumes", strings.ToLower(guid))
}

// onDriveC is where a file of the node's drive C is kept.
func onDriveC(t *testing.T, path string) string {
	t.Helper()
	windows, err := filepath.Glob(node("volumes", "*", "Windows"))
	must(t, "look for drive C", err)
	if len(windows) != 1 {
		t.Fatalf("drives with Windows: %q, want one", windows)
	}
	below := strings.ReplaceAll(strings.TrimPrefix(path, `C:\`), `\`, "/")
	return filepath.Join(filepath.Dir(windows[0]), filepath.FromSlash(below))
}

// wantFolder looks for a folder of the node past the server.
func wantFolder(t *testing.T, host string, want bool) {
	t.Helper()
	found, err := os.Stat(host)
	if is := err == nil && found.IsDir(); is != want {
		t.Errorf("%s is a folder of the node: %v, want %v", host, is, want)
	}
}
