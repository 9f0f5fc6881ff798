#!/bin/bash
# Builds the Debian package from a release build of this machine: build.sh BINARY DIRECTORY. Leaves postern_*.deb there.
set -euo pipefail
binary=$(realpath "$1")
mkdir -p "$2"
directory=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
if [[ $(ldd "$binary") == *libswift* ]]; then
  echo "build.sh: needs a release build (--static-swift-stdlib)" >&2
  exit 1
fi
version=$("$binary" --version | awk '{print $2}')
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct 2>/dev/null || date +%s)}

tree=$directory/postern-$version
rm -rf "$tree" "$directory"/postern_*
mkdir -p "$tree"
cp -r "$here/package" "$tree/debian"
strip -o "$tree/postern" "$binary"
cp "$here/manual.py" "$tree/"
cp "$source/proto-docs/postern.example.yaml" "$tree/"
for unit in service socket; do
  cp "$source/deploy/systemd/postern.$unit" "$tree/debian/postern.$unit"
  cp "$source/deploy/systemd/user/postern.$unit" "$tree/debian/postern.user.$unit"
done
cp "$source/deploy/systemd/postern-gateway.socket" "$tree/debian/postern.postern-gateway.socket"
cp "$source/deploy/systemd/user/postern-gateway.socket" "$tree/debian/postern.postern-gateway.user.socket"
cp "$source/deploy/systemd/postern.sysusers" "$source/deploy/systemd/postern.tmpfiles" "$tree/debian/"
cat >"$tree/debian/changelog" <<END
postern ($version) stable; urgency=medium

  * Release $version: see https://example.com/postern/CHANGELOG.md

 -- Postern <postern@example.com>  $(date --utc --date="@$SOURCE_DATE_EPOCH" -R)
END

(cd "$tree" && dpkg-buildpackage --build=binary --no-sign --no-pre-clean --root-command=$([ "$(id -u)" = 0 ] || echo fakeroot)) \
  >"$directory/build.log" 2>&1 || { tail -n 40 "$directory/build.log"; exit 1; }
rm -rf "$tree"
ls "$directory"/postern_*.deb
