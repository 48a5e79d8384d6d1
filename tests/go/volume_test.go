package clients

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
)

const gib = 1 << 30

// lun is a disk as a driver holds it while it stages and unstages a volume on it.
type lun struct {
	disks   diskv1.DiskClient
	volumes volumev1.VolumeClient
	files   filesystemv1.FilesystemClient
	number  uint32
	volume  string
	target  string
}

// The order of calls is azuredisk's: NodeStage, NodeExpand, NodeUnstage.
func TestALifeOfAVolume(t *testing.T) {
	l := &lun{
		disks:   dialDiskV1(t),
		volumes: dialVolumeV1(t),
		files:   dialFilesystemV1(t),
		target:  freshPath(t),
	}
	l.findRawDisk(t)
	l.partition(t)
	l.format(t)
	l.mount(t)
	l.grow(t)
	l.unmount(t)
	l.takeOffline(t)
}

// findRawDisk takes the one disk that has neither volumes nor partitions.
func (l *lun) findRawDisk(t *testing.T) {
	ctx := deadline(t)
	_, err := l.disks.Rescan(ctx, &diskv1.RescanRequest{})
	must(t, "Rescan", err)
	ids, err := l.disks.ListDiskIDs(ctx, &diskv1.ListDiskIDsRequest{})
	must(t, "ListDiskIDs", err)
	locations, err := l.disks.ListDiskLocations(ctx, &diskv1.ListDiskLocationsRequest{})
	must(t, "ListDiskLocations", err)

	var raw []uint32
	for number := range ids.DiskIDs {
		if len(l.volumesOn(t, number)) == 0 {
			raw = append(raw, number)
		}
	}
	if len(raw) != 1 {
		t.Fatalf("disks without volumes: %v, want one of %v", raw, ids.DiskIDs)
	}
	l.number = raw[0]
	if id := ids.DiskIDs[l.number]; id.GetPage83() == "" && id.GetSerialNumber() == "" {
		t.Errorf("disk %d has neither page 83 id nor serial number", l.number)
	}
	if place, ok := locations.DiskLocations[l.number]; !ok || place.GetLUNID() == "" {
		t.Errorf("disk %d has no place with a LUN: %v", l.number, place)
	}
}

func (l *lun) partition(t *testing.T) {
	ctx := deadline(t)
	request := &diskv1.PartitionDiskRequest{DiskNumber: l.number}
	_, err := l.disks.PartitionDisk(ctx, request)
	must(t, "PartitionDisk", err)
	volumes := l.volumesOn(t, l.number)
	if len(volumes) != 1 {
		t.Fatalf("volumes after PartitionDisk: %q, want one", volumes)
	}
	l.volume = volumes[0]
	if !strings.HasPrefix(l.volume, `\\?\Volume{`) || !strings.HasSuffix(l.volume, `}\`) {
		t.Errorf("volume id %q is no volume name", l.volume)
	}
	_, err = l.disks.PartitionDisk(ctx, request)
	must(t, "PartitionDisk again", err)
	if again := l.volumesOn(t, l.number); !slices.Equal(again, volumes) {
		t.Errorf("volumes after PartitionDisk again: %q, want %q", again, volumes)
	}
	state, err := l.disks.GetDiskState(ctx, &diskv1.GetDiskStateRequest{DiskNumber: l.number})
	must(t, "GetDiskState", err)
	if !state.IsOnline {
		t.Error("the partitioned disk is offline")
	}
}

func (l *lun) format(t *testing.T) {
	ctx := deadline(t)
	l.wantFormatted(t, false)
	_, err := l.volumes.FormatVolume(ctx, &volumev1.FormatVolumeRequest{VolumeId: l.volume})
	must(t, "FormatVolume", err)
	l.wantFormatted(t, true)
	number, err := l.volumes.GetDiskNumberFromVolumeID(ctx,
		&volumev1.GetDiskNumberFromVolumeIDRequest{VolumeId: l.volume})
	must(t, "GetDiskNumberFromVolumeID", err)
	if number.DiskNumber != l.number {
		t.Errorf("the volume is on disk %d, want %d", number.DiskNumber, l.number)
	}
}

func (l *lun) mount(t *testing.T) {
	ctx := deadline(t)
	_, err := l.files.Mkdir(ctx, &filesystemv1.MkdirRequest{Path: l.target})
	must(t, "Mkdir", err)
	lookup := &volumev1.GetVolumeIDFromTargetPathRequest{TargetPath: l.target}
	_, err = l.volumes.GetVolumeIDFromTargetPath(ctx, lookup)
	wantRefusal(t, "GetVolumeIDFromTargetPath of a plain folder", err, "not a mounted folder")
	// aws-ebs reads the end of this text as "nothing is mounted there".
	wantRefusal(t, "GetVolumeIDFromTargetPath of a plain folder", err, ".Target, output: , error: <nil>")

	request := &volumev1.MountVolumeRequest{VolumeId: l.volume, TargetPath: l.target}
	_, err = l.volumes.MountVolume(ctx, request)
	must(t, "MountVolume", err)
	_, err = l.volumes.MountVolume(ctx, request)
	must(t, "MountVolume again", err)

	found, err := l.volumes.GetVolumeIDFromTargetPath(ctx, lookup)
	must(t, "GetVolumeIDFromTargetPath", err)
	if found.VolumeId != l.volume {
		t.Errorf("mounted is %q, want %q", found.VolumeId, l.volume)
	}
	inside := l.target + `\data`
	_, err = l.files.Mkdir(ctx, &filesystemv1.MkdirRequest{Path: inside})
	must(t, "Mkdir in the volume", err)
	l.wantInside(t, true)
}

func (l *lun) grow(t *testing.T) {
	ctx := deadline(t)
	before := l.stats(t)
	if before.TotalBytes <= 0 || before.UsedBytes <= 0 || before.UsedBytes >= before.TotalBytes {
		t.Errorf("statistics of a fresh volume: %v", before)
	}
	size := l.diskSize(t)
	must(t, "grow the disk", os.Truncate(l.image(t), size+gib))

	_, err := l.disks.Rescan(ctx, &diskv1.RescanRequest{})
	must(t, "Rescan", err)
	if now := l.diskSize(t); now != size+gib {
		t.Fatalf("the disk has %d bytes, want %d", now, size+gib)
	}
	_, err = l.volumes.ResizeVolume(ctx, &volumev1.ResizeVolumeRequest{VolumeId: l.volume})
	must(t, "ResizeVolume", err)
	grown := l.stats(t).TotalBytes - before.TotalBytes
	if grown < gib-8<<20 || grown > gib {
		t.Errorf("the volume grew by %d bytes, the disk by %d", grown, gib)
	}
	l.wantInside(t, true)
}

func (l *lun) unmount(t *testing.T) {
	ctx := deadline(t)
	_, err := l.volumes.WriteVolumeCache(ctx, &volumev1.WriteVolumeCacheRequest{VolumeId: l.volume})
	must(t, "WriteVolumeCache", err)
	_, err = l.volumes.UnmountVolume(ctx,
		&volumev1.UnmountVolumeRequest{VolumeId: l.volume, TargetPath: l.target})
	must(t, "UnmountVolume", err)
	l.wantInside(t, false)

	_, err = l.volumes.MountVolume(ctx,
		&volumev1.MountVolumeRequest{VolumeId: l.volume, TargetPath: l.target})
	must(t, "MountVolume after UnmountVolume", err)
	l.wantInside(t, true)
	_, err = l.volumes.UnmountVolume(ctx,
		&volumev1.UnmountVolumeRequest{VolumeId: l.volume, TargetPath: l.target})
	must(t, "UnmountVolume", err)
	_, err = l.files.Rmdir(ctx, &filesystemv1.RmdirRequest{Path: l.target})
	must(t, "Rmdir of the target", err)
}

func (l *lun) takeOffline(t *testing.T) {
	ctx := deadline(t)
	_, err := l.disks.SetDiskState(ctx, &diskv1.SetDiskStateRequest{DiskNumber: l.number})
	must(t, "SetDiskState offline", err)
	state, err := l.disks.GetDiskState(ctx, &diskv1.GetDiskStateRequest{DiskNumber: l.number})
	must(t, "GetDiskState", err)
	if state.IsOnline {
		t.Error("the disk is online after SetDiskState offline")
	}
	if volumes := l.volumesOn(t, l.number); len(volumes) != 0 {
		t.Errorf("volumes of an offline disk: %q", volumes)
	}
}

func (l *lun) volumesOn(t *testing.T, number uint32) []string {
	t.Helper()
	answer, err := l.volumes.ListVolumesOnDisk(deadline(t),
		&volumev1.ListVolumesOnDiskRequest{DiskNumber: number})
	must(t, "ListVolumesOnDisk", err)
	return answer.VolumeIds
}

func (l *lun) wantFormatted(t *testing.T, want bool) {
	t.Helper()
	answer, err := l.volumes.IsVolumeFormatted(deadline(t),
		&volumev1.IsVolumeFormattedRequest{VolumeId: l.volume})
	must(t, "IsVolumeFormatted", err)
	if answer.Formatted != want {
		t.Errorf("IsVolumeFormatted: %v, want %v", answer.Formatted, want)
	}
}

// wantInside looks for the folder that was made in the mounted volume.
func (l *lun) wantInside(t *testing.T, want bool) {
	t.Helper()
	wantExists(t, filesystemV1{l.files}, l.target+`\data`, want)
}

func (l *lun) stats(t *testing.T) *volumev1.GetVolumeStatsResponse {
	t.Helper()
	answer, err := l.volumes.GetVolumeStats(deadline(t),
		&volumev1.GetVolumeStatsRequest{VolumeId: l.volume})
	must(t, "GetVolumeStats", err)
	return answer
}

func (l *lun) diskSize(t *testing.T) int64 {
	t.Helper()
	answer, err := l.disks.GetDiskStats(deadline(t),
		&diskv1.GetDiskStatsRequest{DiskNumber: l.number})
	must(t, "GetDiskStats", err)
	return answer.TotalBytes
}

// image is the file that the simulated node keeps this disk in, found by the disk's serial number.
func (l *lun) image(t *testing.T) string {
	t.Helper()
	ids, err := l.disks.ListDiskIDs(deadline(t), &diskv1.ListDiskIDsRequest{})
	must(t, "ListDiskIDs", err)
	serial := ids.DiskIDs[l.number].GetSerialNumber()
	specs, err := filepath.Glob(filepath.Join(os.Getenv("WINCSI_NODE"), "disks", "*.toml"))
	must(t, "look for the node's disks", err)
	for _, spec := range specs {
		if text, err := os.ReadFile(spec); err == nil && strings.Contains(string(text), serial) {
			return strings.TrimSuffix(spec, ".toml") + ".img"
		}
	}
	t.Fatalf("no disk with the serial %q among %q", serial, specs)
	return ""
}
