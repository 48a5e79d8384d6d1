//go:build v2alpha1

package clients

import (
	"context"
	"testing"

	v2alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

func init() {
	volumeVersions["v2alpha1"] = func(t *testing.T) volumes { return volumeV2alpha1{dialVolumeV2alpha1(t)} }
	rpcsOfTheClient += 11
}

type volumeV2alpha1 struct{ v2alpha1.VolumeClient }

func (v volumeV2alpha1) onDisk(ctx context.Context, disk uint32) ([]string, error) {
	return v.onPartition(ctx, disk, 0)
}

func (v volumeV2alpha1) onPartition(ctx context.Context, disk, partition uint32) ([]string, error) {
	answer, err := v.ListVolumesOnDisk(ctx,
		&v2alpha1.ListVolumesOnDiskRequest{DiskNumber: disk, PartitionNumber: partition})
	return answer.GetVolumeIds(), err
}

func (v volumeV2alpha1) mount(ctx context.Context, id, path string) error {
	return done(v.MountVolume(ctx, &v2alpha1.MountVolumeRequest{VolumeId: id, TargetPath: path}))
}

func (v volumeV2alpha1) unmount(ctx context.Context, id, path string) error {
	return done(v.UnmountVolume(ctx, &v2alpha1.UnmountVolumeRequest{VolumeId: id, TargetPath: path}))
}

func (v volumeV2alpha1) isFormatted(ctx context.Context, id string) (bool, error) {
	answer, err := v.IsVolumeFormatted(ctx, &v2alpha1.IsVolumeFormattedRequest{VolumeId: id})
	return answer.GetFormatted(), err
}

func (v volumeV2alpha1) format(ctx context.Context, id string) error {
	return done(v.FormatVolume(ctx, &v2alpha1.FormatVolumeRequest{VolumeId: id}))
}

func (v volumeV2alpha1) resize(ctx context.Context, id string, size int64) error {
	return done(v.ResizeVolume(ctx, &v2alpha1.ResizeVolumeRequest{VolumeId: id, SizeBytes: size}))
}

func (v volumeV2alpha1) stats(ctx context.Context, id string) (space, error) {
	answer, err := v.GetVolumeStats(ctx, &v2alpha1.GetVolumeStatsRequest{VolumeId: id})
	return space{answer.GetTotalBytes(), answer.GetUsedBytes()}, err
}

func (v volumeV2alpha1) diskNumber(ctx context.Context, id string) (int64, error) {
	answer, err := v.GetDiskNumberFromVolumeID(ctx, &v2alpha1.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
	return int64(answer.GetDiskNumber()), err
}

func (v volumeV2alpha1) ofTarget(ctx context.Context, path string) (string, error) {
	answer, err := v.GetVolumeIDFromTargetPath(ctx, &v2alpha1.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return answer.GetVolumeId(), err
}

func (v volumeV2alpha1) flush(ctx context.Context, id string) error {
	return done(v.WriteVolumeCache(ctx, &v2alpha1.WriteVolumeCacheRequest{VolumeId: id}))
}

func (v volumeV2alpha1) closest(ctx context.Context, path string) (string, error) {
	answer, err := v.GetClosestVolumeIDFromTargetPath(ctx,
		&v2alpha1.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
	return answer.GetVolumeId(), err
}
