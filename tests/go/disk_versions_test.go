package clients

import (
	"context"

	v1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	v1beta3 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta3"
)

type diskV1 struct{ v1.DiskClient }

func (d diskV1) rescan(ctx context.Context) error {
	return done(d.Rescan(ctx, &v1.RescanRequest{}))
}

func (d diskV1) locations(ctx context.Context) (map[uint32]place, error) {
	answer, err := d.ListDiskLocations(ctx, &v1.ListDiskLocationsRequest{})
	return places(answer.GetDiskLocations()), err
}

func (d diskV1) partition(ctx context.Context, disk uint32) error {
	return done(d.PartitionDisk(ctx, &v1.PartitionDiskRequest{DiskNumber: disk}))
}

func (d diskV1) identities(ctx context.Context) (map[uint32]identity, error) {
	answer, err := d.ListDiskIDs(ctx, &v1.ListDiskIDsRequest{})
	found := map[uint32]identity{}
	for disk, ids := range answer.GetDiskIDs() {
		found[disk] = identity{ids.Page83, ids.SerialNumber}
	}
	return found, err
}

func (d diskV1) size(ctx context.Context, disk uint32) (int64, error) {
	answer, err := d.GetDiskStats(ctx, &v1.GetDiskStatsRequest{DiskNumber: disk})
	return answer.GetTotalBytes(), err
}

func (d diskV1) isOnline(ctx context.Context, disk uint32) (bool, error) {
	answer, err := d.GetDiskState(ctx, &v1.GetDiskStateRequest{DiskNumber: disk})
	return answer.GetIsOnline(), err
}

func (d diskV1) setOnline(ctx context.Context, disk uint32, online bool) error {
	return done(d.SetDiskState(ctx, &v1.SetDiskStateRequest{DiskNumber: disk, IsOnline: online}))
}

type diskV1beta3 struct{ v1beta3.DiskClient }

func (d diskV1beta3) rescan(ctx context.Context) error {
	return done(d.Rescan(ctx, &v1beta3.RescanRequest{}))
}

func (d diskV1beta3) locations(ctx context.Context) (map[uint32]place, error) {
	answer, err := d.ListDiskLocations(ctx, &v1beta3.ListDiskLocationsRequest{})
	return places(answer.GetDiskLocations()), err
}

func (d diskV1beta3) partition(ctx context.Context, disk uint32) error {
	return done(d.PartitionDisk(ctx, &v1beta3.PartitionDiskRequest{DiskNumber: disk}))
}

func (d diskV1beta3) identities(ctx context.Context) (map[uint32]identity, error) {
	answer, err := d.ListDiskIDs(ctx, &v1beta3.ListDiskIDsRequest{})
	found := map[uint32]identity{}
	for disk, ids := range answer.GetDiskIDs() {
		found[disk] = identity{ids.Page83, ids.SerialNumber}
	}
	return found, err
}

func (d diskV1beta3) size(ctx context.Context, disk uint32) (int64, error) {
	answer, err := d.GetDiskStats(ctx, &v1beta3.GetDiskStatsRequest{DiskNumber: disk})
	return answer.GetTotalBytes(), err
}

func (d diskV1beta3) isOnline(ctx context.Context, disk uint32) (bool, error) {
	answer, err := d.GetDiskState(ctx, &v1beta3.GetDiskStateRequest{DiskNumber: disk})
	return answer.GetIsOnline(), err
}

func (d diskV1beta3) setOnline(ctx context.Context, disk uint32, online bool) error {
	return done(d.SetDiskState(ctx, &v1beta3.SetDiskStateRequest{DiskNumber: disk, IsOnline: online}))
}

// wirePlace is a location as the messages of any version carry it.
type wirePlace interface {
	GetAdapter() string
	GetBus() string
	GetTarget() string
	GetLUNID() string
}

func places[P wirePlace](listed map[uint32]P) map[uint32]place {
	found := map[uint32]place{}
	for disk, at := range listed {
		found[disk] = placeOf(at)
	}
	return found
}

func placeOf[P wirePlace](at P) place {
	return place{at.GetAdapter(), at.GetBus(), at.GetTarget(), at.GetLUNID()}
}
