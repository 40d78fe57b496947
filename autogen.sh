#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes configure. Needs autoconf, automake, libtool, pkg-config.
cd "$(dirname "$0")" && mkdir -p build-aux && exec autoreconf --install --force
