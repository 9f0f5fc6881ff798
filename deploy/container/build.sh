#!/bin/bash
# Builds the image from a release build of this machine, without a container engine: build.sh BINARY DIRECTORY.
# Leaves postern.tar there (for `docker load` or `podman load`) and postern.spdx.json.
set -euo pipefail
[ "$(id -u)" = 0 ] || exec buildah unshare "$0" "$@"
binary=$(realpath "$1")
mkdir -p "$2"
directory=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || date +%s)}

rm -rf "$directory/root" "$directory/storage" "$directory/run" "$directory/context"
"$here/assemble.sh" "$binary" "$directory/root"
cp "$directory/root/usr/share/doc/postern/postern.spdx.json" "$directory/postern.spdx.json"

# The last stage of the Dockerfile, with the assembled files instead of the stage that makes them.
mkdir -p "$directory/context/image"
cp -a "$directory/root/." "$directory/context/image"
sed -n '/^FROM scratch/,$p' "$here/Dockerfile" >"$directory/Dockerfile"
buildah() { command buildah --root "$directory/storage" --runroot "$directory/run" --storage-driver vfs "$@"; }
mkdir -p "$directory/empty"
buildah build --isolation chroot --format docker --timestamp "$SOURCE_DATE_EPOCH" --quiet \
  --build-context "build=$directory/context" --file "$directory/Dockerfile" --tag localhost/postern "$directory/empty" >/dev/null
rm -rf "$directory/context"
# Not as an OCI archive: that format has no health check.
rm -f "$directory/postern.tar"
buildah push --quiet localhost/postern "docker-archive:$directory/postern.tar:localhost/postern:latest"
echo "$directory/postern.tar: $(du -sb --apparent-size "$directory/root" | cut -f1) bytes uncompressed"
