// Package muster is what a client of Muster's API needs beside the stubs in muster/<domain>/v1.
package muster

import (
	// Health checks, which ServiceConfig asks for, are done by this package.
	_ "google.golang.org/grpc/health"
	"google.golang.org/grpc/status"
	// The details of errors, so that they can be unpacked.
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

// Reason is the reason in an error's details (google.rpc.ErrorInfo of the domain `muster`); empty: the error is not Muster's.
func Reason(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.Domain == "muster" {
			return info.Reason
		}
	}
	return ""
}
