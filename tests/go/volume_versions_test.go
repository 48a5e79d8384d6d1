package clients

import (
	"context"

	v1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	v1beta3 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta3"
)

type volumeV1 struct{ v1.VolumeClient }

func (v volumeV1) onDisk(ctx context.Context, disk uint32) ([]string, error) {
	return v.onPartition(ctx, disk, 0)
}

func (v volumeV1) onPartition(ctx context.Context, disk, partition uint32) ([]string, error) {
	answer, err := v.ListVolumesOnDisk(ctx,
		&v1.ListVolumesOnDiskRequest{DiskNumber: disk, PartitionNumber: partition})
	return answer.GetVolumeIds(), err
}

func (v volumeV1) mount(ctx context.Context, id, path string) error {
	return done(v.MountVolume(ctx, &v1.MountVolumeRequest{VolumeId: id, TargetPath: path}))
}

func (v volumeV1) unmount(ctx context.Context, id, path string) error {
	return done(v.UnmountVolume(ctx, &v1.UnmountVolumeRequest{VolumeId: id, TargetPath: path}))
}

func (v volumeV1) isFormatted(ctx context.Context, id string) (bool, error) {
	answer, err := v.IsVolumeFormatted(ctx, &v1.IsVolumeFormattedRequest{VolumeId: id})
	return answer.GetFormatted(), err
}

func (v volumeV1) format(ctx context.Context, id string) error {
	return done(v.FormatVolume(ctx, &v1.FormatVolumeRequest{VolumeId: id}))
}

func (v volumeV1) resize(ctx context.Context, id string, size int64) error {
	return done(v.ResizeVolume(ctx, &v1.ResizeVolumeRequest{VolumeId: id, SizeBytes: size}))
}

func (v volumeV1) stats(ctx context.Context, id string) (space, error) {
	answer, err := v.GetVolumeStats(ctx, &v1.GetVolumeStatsRequest{VolumeId: id})
	return space{answer.GetTotalBytes(), answer.GetUsedBytes()}, err
}

func (v volumeV1) diskNumber(ctx context.Context, id string) (int64, error) {
	answer, err := v.GetDiskNumberFromVolumeID(ctx, &v1.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
	return int64(answer.GetDiskNumber()), err
}

func (v volumeV1) ofTarget(ctx context.Context, path string) (string, error) {
	answer, err := v.GetVolumeIDFromTargetPath(ctx, &v1.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return answer.GetVolumeId(), err
}

func (v volumeV1) flush(ctx context.Context, id string) error {
	return done(v.WriteVolumeCache(ctx, &v1.WriteVolumeCacheRequest{VolumeId: id}))
}

type volumeV1beta3 struct{ v1beta3.VolumeClient }

func (v volumeV1beta3) onDisk(ctx context.Context, disk uint32) ([]string, error) {
	return v.onPartition(ctx, disk, 0)
}

func (v volumeV1beta3) onPartition(ctx context.Context, disk, partition uint32) ([]string, error) {
	answer, err := v.ListVolumesOnDisk(ctx,
		&v1beta3.ListVolumesOnDiskRequest{DiskNumber: disk, PartitionNumber: partition})
	return answer.GetVolumeIds(), err
}

func (v volumeV1beta3) mount(ctx context.Context, id, path string) error {
	return done(v.MountVolume(ctx, &v1beta3.MountVolumeRequest{VolumeId: id, TargetPath: path}))
}

func (v volumeV1beta3) unmount(ctx context.Context, id, path string) error {
	return done(v.UnmountVolume(ctx, &v1beta3.UnmountVolumeRequest{VolumeId: id, TargetPath: path}))
}

func (v volumeV1beta3) isFormatted(ctx context.Context, id string) (bool, error) {
	answer, err := v.IsVolumeFormatted(ctx, &v1beta3.IsVolumeFormattedRequest{VolumeId: id})
	return answer.GetFormatted(), err
}

func (v volumeV1beta3) format(ctx context.Context, id string) error {
	return done(v.FormatVolume(ctx, &v1beta3.FormatVolumeRequest{VolumeId: id}))
}

func (v volumeV1beta3) resize(ctx context.Context, id string, size int64) error {
	return done(v.ResizeVolume(ctx, &v1beta3.ResizeVolumeRequest{VolumeId: id, SizeBytes: size}))
}

func (v volumeV1beta3) stats(ctx context.Context, id string) (space, error) {
	answer, err := v.GetVolumeStats(ctx, &v1beta3.GetVolumeStatsRequest{VolumeId: id})
	return space{answer.GetTotalBytes(), answer.GetUsedBytes()}, err
}

func (v volumeV1beta3) diskNumber(ctx context.Context, id string) (int64, error) {
	answer, err := v.GetDiskNumberFromVolumeID(ctx, &v1beta3.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
	return int64(answer.GetDiskNumber()), err
}

func (v volumeV1beta3) ofTarget(ctx context.Context, path string) (string, error) {
	answer, err := v.GetVolumeIDFromTargetPath(ctx, &v1beta3.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return answer.GetVolumeId(), err
}

func (v volumeV1beta3) flush(ctx context.Context, id string) error {
	return done(v.WriteVolumeCache(ctx, &v1beta3.WriteVolumeCacheRequest{VolumeId: id}))
}
