package clients

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// volumes is what every version of the group offers, under whichever names.
type volumes interface {
	onDisk(ctx context.Context, disk uint32) ([]string, error)
	mount(ctx context.Context, id, path string) error
	unmount(ctx context.Context, id, path string) error
	isFormatted(ctx context.Context, id string) (bool, error)
	format(ctx context.Context, id string) error
	resize(ctx context.Context, id string, size int64) error
}

// volumeLookups is what came with v1beta1.
type volumeLookups interface {
	stats(ctx context.Context, id string) (space, error)
	diskNumber(ctx context.Context, id string) (int64, error)
	ofTarget(ctx context.Context, path string) (string, error)
}

// volumeCaches is what came with v1beta2.
type volumeCaches interface {
	flush(ctx context.Context, id string) error
}

// volumePartitions is what came with v1beta3.
type volumePartitions interface {
	onPartition(ctx context.Context, disk, partition uint32) ([]string, error)
}

// volumeSurroundings is what came with v2alpha1.
type volumeSurroundings interface {
	closest(ctx context.Context, path string) (string, error)
}

// space is a filesystem's bytes.
type space struct{ total, used int64 }

// volumeVersions opens each version; v2alpha1 adds itself where the client has it.
var volumeVersions = map[string]func(*testing.T) volumes{
	"v1":       func(t *testing.T) volumes { return volumeV1{dialVolumeV1(t)} },
	"v1alpha1": func(t *testing.T) volumes { return volumeV1alpha1{dialVolumeV1alpha1(t)} },
	"v1beta1":  func(t *testing.T) volumes { return volumeV1beta1{dialVolumeV1beta1(t)} },
	"v1beta2":  func(t *testing.T) volumes { return volumeV1beta2{dialVolumeV1beta2(t)} },
	"v1beta3":  func(t *testing.T) volumes { return volumeV1beta3{dialVolumeV1beta3(t)} },
}

// lun is a disk as a driver holds it while it stages and unstages a volume on it.
type lun struct {
	volumes volumes
	files   filesystem
	drive   drive
	number  uint32
	volume  string
	target  string
}

// The order of calls is azuredisk's: NodeStage, NodeExpand, NodeUnstage.
func lifeOfAVolume(t *testing.T, volumes volumes) {
	l := partitionedDisk(t, plug(t, gib), volumes)
	l.stage(t)
	l.grow(t)
	l.unmount(t)
	l.lose(t)
}

// partitionedDisk gives a new disk of 1 GiB its partition, and a path to mount it at.
func partitionedDisk(t *testing.T, drive drive, volumes volumes) *lun {
	t.Helper()
	l := &lun{
		volumes: volumes,
		files:   filesystemV1{dialFilesystemV1(t)},
		drive:   drive,
		target:  freshPath(t),
	}
	l.number = l.drive.number(t)
	must(t, "PartitionDisk", diskV1{dialDiskV1(t)}.partition(deadline(t), l.number))
	return l
}

func (l *lun) stage(t *testing.T) {
	t.Helper()
	l.find(t)
	l.format(t)
	l.mount(t)
}

func (l *lun) find(t *testing.T) {
	t.Helper()
	ctx := deadline(t)
	found := l.onDisk(t)
	if len(found) != 1 {
		t.Fatalf("volumes of a partitioned disk: %q, want one", found)
	}
	l.volume = found[0]
	if !strings.HasPrefix(l.volume, `\\?\Volume{`) || !strings.HasSuffix(l.volume, `}\`) {
		t.Errorf("volume id %q is no volume name", l.volume)
	}
	if numbered, ok := l.volumes.(volumePartitions); ok {
		reserved, err := numbered.onPartition(ctx, l.number, 1)
		must(t, "ListVolumesOnDisk", err)
		data, err := numbered.onPartition(ctx, l.number, 2)
		must(t, "ListVolumesOnDisk", err)
		if len(reserved) != 0 || !slices.Equal(data, found) {
			t.Errorf("volumes of the reserved partition %q, of the other %q", reserved, data)
		}
	}
	if lookups, ok := l.volumes.(volumeLookups); ok {
		number, err := lookups.diskNumber(ctx, l.volume)
		must(t, "the volume's disk", err)
		if number != int64(l.number) {
			t.Errorf("the volume is on disk %d, want %d", number, l.number)
		}
	}
}

func (l *lun) format(t *testing.T) {
	t.Helper()
	l.wantFormatted(t, false)
	must(t, "FormatVolume", l.volumes.format(deadline(t), l.volume))
	l.wantFormatted(t, true)
	total := l.stats(t).total
	if total <= gib-64*mib || total > gib {
		t.Errorf("a volume on a disk of %d bytes has %d", gib, total)
	}
}

func (l *lun) mount(t *testing.T) {
	t.Helper()
	ctx := deadline(t)
	must(t, "Mkdir", l.files.mkdir(ctx, l.target))
	if lookups, ok := l.volumes.(volumeLookups); ok {
		_, err := lookups.ofTarget(ctx, l.target)
		wantRefusal(t, "volume of a plain folder", err, "not a mounted folder")
		// aws-ebs reads the end of this text as "nothing is mounted there".
		wantRefusal(t, "volume of a plain folder", err, ".Target, output: , error: <nil>")
	}
	for range 2 {
		must(t, "MountVolume", l.volumes.mount(ctx, l.volume, l.target))
	}
	l.wantMounted(t)
	must(t, "Mkdir in the volume", l.files.mkdir(ctx, l.target+`\data\inner`))
	l.wantInside(t, true)
	if near, ok := l.volumes.(volumeSurroundings); ok {
		found, err := near.closest(ctx, l.target+`\data\inner`)
		must(t, "GetClosestVolumeIDFromTargetPath", err)
		if found != l.volume {
			t.Errorf("the closest volume is %q, want %q", found, l.volume)
		}
	}
	wantRefusal(t, "FormatVolume of a volume in use", l.volumes.format(ctx, l.volume), "it holds NTFS filesystem")
	l.wantInside(t, true)
}

// wantMounted asks for what is mounted, in this version if it can tell.
func (l *lun) wantMounted(t *testing.T) {
	t.Helper()
	var lookups volumeLookups = volumeV1{dialVolumeV1(t)}
	if own, ok := l.volumes.(volumeLookups); ok {
		lookups = own
	}
	found, err := lookups.ofTarget(deadline(t), l.target)
	must(t, "the mounted volume", err)
	if found != l.volume {
		t.Errorf("mounted is %q, want %q", found, l.volume)
	}
}

// grow gives the disk 2 GiB more, and the volume first a part of them and then the rest.
func (l *lun) grow(t *testing.T) {
	t.Helper()
	ctx := deadline(t)
	before := l.stats(t)
	if before.used <= 0 || before.used > before.total/8 {
		t.Errorf("statistics of a fresh volume: %v", before)
	}
	l.drive.setLength(t, 3*gib)
	rescan(t)
	must(t, "ResizeVolume to a size", l.volumes.resize(ctx, l.volume, 2*gib))
	wantAbout(t, l.stats(t).total, 2*gib)
	must(t, "ResizeVolume to all there is", l.volumes.resize(ctx, l.volume, 0))
	wantAbout(t, l.stats(t).total-before.total, 2*gib)
	l.wantInside(t, true)
}

func wantAbout(t *testing.T, bytes, want int64) {
	t.Helper()
	if bytes < want-8*mib || bytes > want {
		t.Errorf("%d bytes, want %d or up to 8 MiB less", bytes, want)
	}
}

func (l *lun) unmount(t *testing.T) {
	t.Helper()
	ctx := deadline(t)
	if caches, ok := l.volumes.(volumeCaches); ok {
		must(t, "WriteVolumeCache", caches.flush(ctx, l.volume))
	}
	must(t, "unmount", l.volumes.unmount(ctx, l.volume, l.target))
	l.wantInside(t, false)
	must(t, "Rmdir of the target", l.files.rmdir(ctx, l.target, false))
	wantFolder(t, filepath.Join(volumeFolder(l.volume), "data", "inner"), true)
}

// lose pulls the disk out: its volume goes with it.
func (l *lun) lose(t *testing.T) {
	t.Helper()
	l.drive.pullOut()
	rescan(t)
	if found := l.onDisk(t); len(found) != 0 {
		t.Errorf("volumes of a disk that is gone: %q", found)
	}
	_, err := l.volumes.isFormatted(deadline(t), l.volume)
	wantRefusal(t, "IsVolumeFormatted of a volume that is gone", err, l.volume)
}

func (l *lun) onDisk(t *testing.T) []string {
	t.Helper()
	found, err := l.volumes.onDisk(deadline(t), l.number)
	must(t, "ListVolumesOnDisk", err)
	return found
}

func (l *lun) wantFormatted(t *testing.T, want bool) {
	t.Helper()
	formatted, err := l.volumes.isFormatted(deadline(t), l.volume)
	must(t, "IsVolumeFormatted", err)
	if formatted != want {
		t.Errorf("IsVolumeFormatted: %v, want %v", formatted, want)
	}
}

// wantInside looks at the mount point for the folder that was made in the volume, where it must be
// in either case.
func (l *lun) wantInside(t *testing.T, want bool) {
	t.Helper()
	wantExists(t, l.files, l.target+`\data\inner`, want)
	wantFolder(t, filepath.Join(volumeFolder(l.volume), "data", "inner"), true)
}

// stats are the volume's, from this version if it can tell.
func (l *lun) stats(t *testing.T) space {
	t.Helper()
	var lookups volumeLookups = volumeV1{dialVolumeV1(t)}
	if own, ok := l.volumes.(volumeLookups); ok {
		lookups = own
	}
	found, err := lookups.stats(deadline(t), l.volume)
	must(t, "statistics", err)
	return found
}
