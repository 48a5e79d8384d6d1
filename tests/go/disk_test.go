package clients

import (
	"context"
	"slices"
	"testing"
)

// disks is what every version of the group offers, under whichever names. A disk's number is a
// number here, though the older versions write it as text.
type disks interface {
	rescan(ctx context.Context) error
	locations(ctx context.Context) (map[uint32]place, error)
	partition(ctx context.Context, disk uint32) error
}

// diskNames is what v1alpha1 alone offers.
type diskNames interface {
	byPage83(ctx context.Context, name string) (uint32, error)
}

// diskFacts is what came with v1beta1.
type diskFacts interface {
	identities(ctx context.Context) (map[uint32]identity, error)
	size(ctx context.Context, disk uint32) (int64, error)
}

// diskStates is what came with v1beta2.
type diskStates interface {
	isOnline(ctx context.Context, disk uint32) (bool, error)
	setOnline(ctx context.Context, disk uint32, online bool) error
}

type place struct{ adapter, bus, target, lun string }

type identity struct{ page83, serial string }

var diskVersions = map[string]func(*testing.T) disks{
	"v1":       func(t *testing.T) disks { return diskV1{dialDiskV1(t)} },
	"v1alpha1": func(t *testing.T) disks { return diskV1alpha1{dialDiskV1alpha1(t)} },
	"v1beta1":  func(t *testing.T) disks { return diskV1beta1{dialDiskV1beta1(t)} },
	"v1beta2":  func(t *testing.T) disks { return diskV1beta2{dialDiskV1beta2(t)} },
	"v1beta3":  func(t *testing.T) disks { return diskV1beta3{dialDiskV1beta3(t)} },
}

// lifeOfADisk follows a disk from the moment it is plugged in until it is pulled out.
func lifeOfADisk(t *testing.T, disks disks) {
	ctx := deadline(t)
	own := plug(t, gib)
	must(t, "Rescan", disks.rescan(ctx))
	number := own.number(t)
	wantPlace(t, disks, number, own.at)
	if named, ok := disks.(diskNames); ok {
		wantNamed(t, named, own, number)
	}
	if told, ok := disks.(diskFacts); ok {
		wantFacts(t, told, own, number)
		wantGrowth(t, disks, told, own, number)
	}
	wantPartitioned(t, disks, number)
	if switched, ok := disks.(diskStates); ok {
		wantSwitched(t, switched, number)
	}

	own.pullOut()
	must(t, "Rescan", disks.rescan(ctx))
	left, err := disks.locations(ctx)
	must(t, "ListDiskLocations", err)
	if at, ok := left[number]; ok {
		t.Errorf("the disk that was pulled out is at %v", at)
	}
}

func wantPlace(t *testing.T, disks disks, number uint32, want place) {
	t.Helper()
	found, err := disks.locations(deadline(t))
	must(t, "ListDiskLocations", err)
	if found[number] != want {
		t.Errorf("disk %d is at %v, want %v, among %v", number, found[number], want, found)
	}
}

func wantNamed(t *testing.T, disks diskNames, own drive, want uint32) {
	t.Helper()
	ctx := deadline(t)
	found, err := disks.byPage83(ctx, own.page83)
	must(t, "GetDiskNumberByName", err)
	if found != want {
		t.Errorf("disk %s is number %d, want %d", own.page83, found, want)
	}
	_, err = disks.byPage83(ctx, own.page83+"0")
	wantRefusal(t, "GetDiskNumberByName of no disk", err, "could not find disk with Page83 ID "+own.page83+"0")
}

func wantFacts(t *testing.T, disks diskFacts, own drive, number uint32) {
	t.Helper()
	found, err := disks.identities(deadline(t))
	must(t, "ListDiskIDs", err)
	if want := (identity{own.page83, own.serial}); found[number] != want {
		t.Errorf("disk %d is %v, want %v", number, found[number], want)
	}
	wantSize(t, disks, number, gib)
}

func wantGrowth(t *testing.T, disks disks, told diskFacts, own drive, number uint32) {
	t.Helper()
	own.setLength(t, 2*gib)
	wantSize(t, told, number, gib)
	must(t, "Rescan", disks.rescan(deadline(t)))
	wantSize(t, told, number, 2*gib)
}

func wantSize(t *testing.T, disks diskFacts, number uint32, want int64) {
	t.Helper()
	size, err := disks.size(deadline(t), number)
	must(t, "size of the disk", err)
	if size != want {
		t.Errorf("disk %d has %d bytes, want %d", number, size, want)
	}
}

func wantPartitioned(t *testing.T, disks disks, number uint32) {
	t.Helper()
	ctx := deadline(t)
	volumes := volumeV1{dialVolumeV1(t)}
	none, err := volumes.onDisk(ctx, number)
	must(t, "ListVolumesOnDisk", err)
	if len(none) != 0 {
		t.Errorf("volumes of a raw disk: %q", none)
	}
	must(t, "PartitionDisk", disks.partition(ctx, number))
	first, err := volumes.onDisk(ctx, number)
	must(t, "ListVolumesOnDisk", err)
	if len(first) != 1 {
		t.Fatalf("volumes after PartitionDisk: %q, want one", first)
	}
	must(t, "PartitionDisk again", disks.partition(ctx, number))
	again, err := volumes.onDisk(ctx, number)
	must(t, "ListVolumesOnDisk", err)
	if !slices.Equal(again, first) {
		t.Errorf("volumes after PartitionDisk again: %q, want %q", again, first)
	}
}

// wantSwitched takes a disk offline, where it has no volumes, and online.
func wantSwitched(t *testing.T, disks diskStates, number uint32) {
	t.Helper()
	wantOnline(t, disks, number, true)
	for _, online := range []bool{false, true} {
		must(t, "set the disk's state", disks.setOnline(deadline(t), number, online))
		wantOnline(t, disks, number, online)
		found, err := volumeV1{dialVolumeV1(t)}.onDisk(deadline(t), number)
		must(t, "ListVolumesOnDisk", err)
		if !online && len(found) != 0 {
			t.Errorf("volumes of an offline disk: %q", found)
		}
	}
}

func wantOnline(t *testing.T, disks diskStates, number uint32, want bool) {
	t.Helper()
	online, err := disks.isOnline(deadline(t), number)
	must(t, "the disk's state", err)
	if online != want {
		t.Errorf("disk %d is online: %v, want %v", number, online, want)
	}
}
