// Package sanity runs csi-sanity's cases against the node plugin at WINCSI_ENDPOINT, which serves a simulated node, and the
// controller of its volumes at WINCSI_CONTROLLER_ENDPOINT, and makes the calls of a kubelet that registers the plugin at
// WINCSI_REGISTRATION. Volumes are disks, or what a StorageClass with the parameters WINCSI_PARAMETERS, in JSON, the secrets
// in WINCSI_SECRETS and the mount option WINCSI_MOUNT_OPTION makes of them.
package sanity

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/csi-test/v5/pkg/sanity"
	"google.golang.org/grpc"
)

const gibibyte = 1 << 30

func TestSanity(t *testing.T) {
	drive := driveC(os.Getenv("WINCSI_DRIVE_C"))
	config := sanity.NewTestConfig()
	config.Address = os.Getenv("WINCSI_ENDPOINT")
	config.ControllerAddress = os.Getenv("WINCSI_CONTROLLER_ENDPOINT")
	config.TargetPath = `C:\csi\mount`
	config.StagingPath = `C:\csi\staging`
	config.CreateTargetDir = drive.create
	config.CreateStagingDir = drive.create
	config.RemoveTargetPath = drive.remove
	config.RemoveStagingPath = drive.remove
	config.CheckPath = drive.check
	config.TestVolumeSize = gibibyte
	config.TestVolumeExpandSize = 2 * gibibyte
	if parameters := os.Getenv("WINCSI_PARAMETERS"); parameters != "" {
		if err := json.Unmarshal([]byte(parameters), &config.TestVolumeParameters); err != nil {
			t.Fatal(err)
		}
		config.SecretsFile = os.Getenv("WINCSI_SECRETS")
	}
	if option := os.Getenv("WINCSI_MOUNT_OPTION"); option != "" {
		mounts := grpc.WithUnaryInterceptor(mountsWith(option))
		config.ControllerDialOptions = append(config.ControllerDialOptions, mounts)
	}
	cases := reportCases(t)
	sanity.Test(t, config)
	least := leastPassed
	if given, err := strconv.Atoi(os.Getenv("WINCSI_LEAST_PASSED")); err == nil {
		least = given
	}
	if cases.passed < least {
		t.Errorf("of csi-sanity's cases %d passed, %d at least have to", cases.passed, least)
	}
}

// mountsWith gives the volumes of a create a mount option, for which csi-sanity has no setting.
func mountsWith(option string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if create, ok := request.(*csi.CreateVolumeRequest); ok {
			for number, capability := range create.VolumeCapabilities {
				if capability.GetMount() != nil {
					// Its own: the calls of the node have the other.
					mount := &csi.VolumeCapability_MountVolume{MountFlags: []string{option}}
					create.VolumeCapabilities[number] = &csi.VolumeCapability{
						AccessMode: capability.AccessMode,
						AccessType: &csi.VolumeCapability_Mount{Mount: mount},
					}
				}
			}
		}
		return invoke(ctx, method, request, reply, conn, options...)
	}
}

// driveC is the folder of this machine that the node calls C:.
type driveC string

func (d driveC) create(path string) (string, error) {
	return path, os.MkdirAll(d.host(path), 0o755)
}

func (d driveC) remove(path string) error {
	return os.RemoveAll(d.host(path))
}

// check says whether there is an entry. A link or a mounted folder is a directory here.
func (d driveC) check(path string) (sanity.PathKind, error) {
	found, err := os.Lstat(d.host(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sanity.PathIsNotFound, nil
	case err != nil:
		return "", err
	case found.IsDir():
		return sanity.PathIsDir, nil
	case found.Mode().IsRegular():
		return sanity.PathIsFile, nil
	default:
		return sanity.PathIsOther, nil
	}
}

func (d driveC) host(path string) string {
	below := strings.ReplaceAll(strings.TrimPrefix(path, "C:"), `\`, "/")
	return filepath.Join(string(d), below)
}
