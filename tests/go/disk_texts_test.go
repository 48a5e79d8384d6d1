package clients

import (
	"context"
	"strconv"

	v1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1alpha1"
	v1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta1"
	v1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta2"
)

// The versions that write disk numbers as text.

type diskV1alpha1 struct{ v1alpha1.DiskClient }

func (d diskV1alpha1) rescan(ctx context.Context) error {
	return done(d.Rescan(ctx, &v1alpha1.RescanRequest{}))
}

func (d diskV1alpha1) locations(ctx context.Context) (map[uint32]place, error) {
	answer, err := d.ListDiskLocations(ctx, &v1alpha1.ListDiskLocationsRequest{})
	return placesByText(answer.GetDiskLocations(), err)
}

func (d diskV1alpha1) partition(ctx context.Context, disk uint32) error {
	return done(d.PartitionDisk(ctx, &v1alpha1.PartitionDiskRequest{DiskID: text(disk)}))
}

func (d diskV1alpha1) byPage83(ctx context.Context, name string) (uint32, error) {
	answer, err := d.GetDiskNumberByName(ctx, &v1alpha1.GetDiskNumberByNameRequest{DiskName: name})
	if err != nil {
		return 0, err
	}
	return number(answer.DiskNumber)
}

type diskV1beta1 struct{ v1beta1.DiskClient }

func (d diskV1beta1) rescan(ctx context.Context) error {
	return done(d.Rescan(ctx, &v1beta1.RescanRequest{}))
}

func (d diskV1beta1) locations(ctx context.Context) (map[uint32]place, error) {
	answer, err := d.ListDiskLocations(ctx, &v1beta1.ListDiskLocationsRequest{})
	return placesByText(answer.GetDiskLocations(), err)
}

func (d diskV1beta1) partition(ctx context.Context, disk uint32) error {
	return done(d.PartitionDisk(ctx, &v1beta1.PartitionDiskRequest{DiskID: text(disk)}))
}

func (d diskV1beta1) identities(ctx context.Context) (map[uint32]identity, error) {
	answer, err := d.ListDiskIDs(ctx, &v1beta1.ListDiskIDsRequest{})
	if err != nil {
		return nil, err
	}
	return byNumber(answer.DiskIDs, func(ids *v1beta1.DiskIDs) identity {
		return identity{ids.Identifiers["page83"], ids.Identifiers["serialNumber"]}
	})
}

func (d diskV1beta1) size(ctx context.Context, disk uint32) (int64, error) {
	answer, err := d.DiskStats(ctx, &v1beta1.DiskStatsRequest{DiskID: text(disk)})
	return answer.GetDiskSize(), err
}

type diskV1beta2 struct{ v1beta2.DiskClient }

func (d diskV1beta2) rescan(ctx context.Context) error {
	return done(d.Rescan(ctx, &v1beta2.RescanRequest{}))
}

func (d diskV1beta2) locations(ctx context.Context) (map[uint32]place, error) {
	answer, err := d.ListDiskLocations(ctx, &v1beta2.ListDiskLocationsRequest{})
	return placesByText(answer.GetDiskLocations(), err)
}

func (d diskV1beta2) partition(ctx context.Context, disk uint32) error {
	return done(d.PartitionDisk(ctx, &v1beta2.PartitionDiskRequest{DiskID: text(disk)}))
}

func (d diskV1beta2) identities(ctx context.Context) (map[uint32]identity, error) {
	answer, err := d.ListDiskIDs(ctx, &v1beta2.ListDiskIDsRequest{})
	if err != nil {
		return nil, err
	}
	return byNumber(answer.DiskIDs, func(ids *v1beta2.DiskIDs) identity {
		return identity{ids.Identifiers["page83"], ids.Identifiers["serialNumber"]}
	})
}

func (d diskV1beta2) size(ctx context.Context, disk uint32) (int64, error) {
	answer, err := d.DiskStats(ctx, &v1beta2.DiskStatsRequest{DiskID: text(disk)})
	return answer.GetDiskSize(), err
}

func (d diskV1beta2) isOnline(ctx context.Context, disk uint32) (bool, error) {
	answer, err := d.GetAttachState(ctx, &v1beta2.GetAttachStateRequest{DiskID: text(disk)})
	return answer.GetIsOnline(), err
}

func (d diskV1beta2) setOnline(ctx context.Context, disk uint32, online bool) error {
	return done(d.SetAttachState(ctx, &v1beta2.SetAttachStateRequest{DiskID: text(disk), IsOnline: online}))
}

func text(disk uint32) string {
	return strconv.FormatUint(uint64(disk), 10)
}

func number(text string) (uint32, error) {
	parsed, err := strconv.ParseUint(text, 10, 32)
	return uint32(parsed), err
}

func placesByText[P wirePlace](listed map[string]P, err error) (map[uint32]place, error) {
	if err != nil {
		return nil, err
	}
	return byNumber(listed, placeOf[P])
}

func byNumber[W, T any](listed map[string]W, read func(W) T) (map[uint32]T, error) {
	found := map[uint32]T{}
	for key, value := range listed {
		disk, err := number(key)
		if err != nil {
			return nil, err
		}
		found[disk] = read(value)
	}
	return found, nil
}
