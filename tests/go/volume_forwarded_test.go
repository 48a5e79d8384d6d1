package clients

import (
	"context"

	v1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1alpha1"
	v1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta1"
	v1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta2"
)

// The versions that call a disk by text, and some calls by names of old.

type volumeV1alpha1 struct{ v1alpha1.VolumeClient }

func (v volumeV1alpha1) onDisk(ctx context.Context, disk uint32) ([]string, error) {
	answer, err := v.ListVolumesOnDisk(ctx, &v1alpha1.ListVolumesOnDiskRequest{DiskId: text(disk)})
	return answer.GetVolumeIds(), err
}

func (v volumeV1alpha1) mount(ctx context.Context, id, path string) error {
	return done(v.MountVolume(ctx, &v1alpha1.MountVolumeRequest{VolumeId: id, Path: path}))
}

func (v volumeV1alpha1) unmount(ctx context.Context, id, path string) error {
	return done(v.DismountVolume(ctx, &v1alpha1.DismountVolumeRequest{VolumeId: id, Path: path}))
}

func (v volumeV1alpha1) isFormatted(ctx context.Context, id string) (bool, error) {
	answer, err := v.IsVolumeFormatted(ctx, &v1alpha1.IsVolumeFormattedRequest{VolumeId: id})
	return answer.GetFormatted(), err
}

func (v volumeV1alpha1) format(ctx context.Context, id string) error {
	return done(v.FormatVolume(ctx, &v1alpha1.FormatVolumeRequest{VolumeId: id}))
}

func (v volumeV1alpha1) resize(ctx context.Context, id string, size int64) error {
	return done(v.ResizeVolume(ctx, &v1alpha1.ResizeVolumeRequest{VolumeId: id, Size: size}))
}

type volumeV1beta1 struct{ v1beta1.VolumeClient }

func (v volumeV1beta1) onDisk(ctx context.Context, disk uint32) ([]string, error) {
	answer, err := v.ListVolumesOnDisk(ctx, &v1beta1.ListVolumesOnDiskRequest{DiskId: text(disk)})
	return answer.GetVolumeIds(), err
}

func (v volumeV1beta1) mount(ctx context.Context, id, path string) error {
	return done(v.MountVolume(ctx, &v1beta1.MountVolumeRequest{VolumeId: id, Path: path}))
}

func (v volumeV1beta1) unmount(ctx context.Context, id, path string) error {
	return done(v.DismountVolume(ctx, &v1beta1.DismountVolumeRequest{VolumeId: id, Path: path}))
}

func (v volumeV1beta1) isFormatted(ctx context.Context, id string) (bool, error) {
	answer, err := v.IsVolumeFormatted(ctx, &v1beta1.IsVolumeFormattedRequest{VolumeId: id})
	return answer.GetFormatted(), err
}

func (v volumeV1beta1) format(ctx context.Context, id string) error {
	return done(v.FormatVolume(ctx, &v1beta1.FormatVolumeRequest{VolumeId: id}))
}

func (v volumeV1beta1) resize(ctx context.Context, id string, size int64) error {
	return done(v.ResizeVolume(ctx, &v1beta1.ResizeVolumeRequest{VolumeId: id, Size: size}))
}

func (v volumeV1beta1) stats(ctx context.Context, id string) (space, error) {
	answer, err := v.VolumeStats(ctx, &v1beta1.VolumeStatsRequest{VolumeId: id})
	return space{answer.GetVolumeSize(), answer.GetVolumeUsedSize()}, err
}

func (v volumeV1beta1) diskNumber(ctx context.Context, id string) (int64, error) {
	answer, err := v.GetVolumeDiskNumber(ctx, &v1beta1.VolumeDiskNumberRequest{VolumeId: id})
	return answer.GetDiskNumber(), err
}

func (v volumeV1beta1) ofTarget(ctx context.Context, path string) (string, error) {
	answer, err := v.GetVolumeIDFromMount(ctx, &v1beta1.VolumeIDFromMountRequest{Mount: path})
	return answer.GetVolumeId(), err
}

type volumeV1beta2 struct{ v1beta2.VolumeClient }

func (v volumeV1beta2) onDisk(ctx context.Context, disk uint32) ([]string, error) {
	answer, err := v.ListVolumesOnDisk(ctx, &v1beta2.ListVolumesOnDiskRequest{DiskId: text(disk)})
	return answer.GetVolumeIds(), err
}

func (v volumeV1beta2) mount(ctx context.Context, id, path string) error {
	return done(v.MountVolume(ctx, &v1beta2.MountVolumeRequest{VolumeId: id, Path: path}))
}

func (v volumeV1beta2) unmount(ctx context.Context, id, path string) error {
	return done(v.DismountVolume(ctx, &v1beta2.DismountVolumeRequest{VolumeId: id, Path: path}))
}

func (v volumeV1beta2) isFormatted(ctx context.Context, id string) (bool, error) {
	answer, err := v.IsVolumeFormatted(ctx, &v1beta2.IsVolumeFormattedRequest{VolumeId: id})
	return answer.GetFormatted(), err
}

func (v volumeV1beta2) format(ctx context.Context, id string) error {
	return done(v.FormatVolume(ctx, &v1beta2.FormatVolumeRequest{VolumeId: id}))
}

func (v volumeV1beta2) resize(ctx context.Context, id string, size int64) error {
	return done(v.ResizeVolume(ctx, &v1beta2.ResizeVolumeRequest{VolumeId: id, Size: size}))
}

func (v volumeV1beta2) stats(ctx context.Context, id string) (space, error) {
	answer, err := v.VolumeStats(ctx, &v1beta2.VolumeStatsRequest{VolumeId: id})
	return space{answer.GetVolumeSize(), answer.GetVolumeUsedSize()}, err
}

func (v volumeV1beta2) diskNumber(ctx context.Context, id string) (int64, error) {
	answer, err := v.GetVolumeDiskNumber(ctx, &v1beta2.VolumeDiskNumberRequest{VolumeId: id})
	return answer.GetDiskNumber(), err
}

func (v volumeV1beta2) ofTarget(ctx context.Context, path string) (string, error) {
	answer, err := v.GetVolumeIDFromMount(ctx, &v1beta2.VolumeIDFromMountRequest{Mount: path})
	return answer.GetVolumeId(), err
}

func (v volumeV1beta2) flush(ctx context.Context, id string) error {
	return done(v.WriteVolumeCache(ctx, &v1beta2.WriteVolumeCacheRequest{VolumeId: id}))
}
