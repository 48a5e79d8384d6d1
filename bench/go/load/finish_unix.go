//go:build !windows

package main

func finish() {}
