//go:build windows

// Layers reads a layer as hcsshim does, by go-winio's backuptar, and prints a line for each entry: its name, attributes
// and length, the length of the stream that Windows would restore it from, and its security descriptor, whose text
// Windows makes (or Wine).
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/Microsoft/go-winio"
	"github.com/Microsoft/go-winio/backuptar"
)

func main() {
	log.SetFlags(0)
	file, err := os.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		log.Fatal(err)
	}
	if err := list(tar.NewReader(unpacked)); err != nil {
		log.Fatal(err)
	}
}

func list(layer *tar.Reader) error {
	entry, err := layer.Next()
	for err == nil {
		entry, err = show(layer, entry)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Show prints an entry, and returns the next one.
func show(layer *tar.Reader, entry *tar.Header) (*tar.Header, error) {
	name, size, info, err := backuptar.FileInfoFromHeader(entry)
	if err != nil {
		return nil, err
	}
	descriptor, err := backuptar.SecurityDescriptorFromTarHeader(entry)
	if err != nil {
		return nil, err
	}
	sddl, err := winio.SecurityDescriptorToSddl(descriptor)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var stream bytes.Buffer
	next, err := backuptar.WriteBackupStreamFromTarFile(&stream, layer, entry)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	fmt.Printf("%s %d %d %d %s\n", name, info.FileAttributes, size, stream.Len(), sddl)
	return next, err
}
