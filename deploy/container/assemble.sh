#!/bin/bash
# The files of the image: assemble.sh BINARY ROOT puts them into ROOT, which must not exist. This is the one list of
# what goes in; Dockerfile and build.sh both call it. Run as root: directories get the image's user.
set -euo pipefail
binary=$1
root=$2
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
user=10001

umask 022
mkdir "$root"
mkdir -p "$root"/{dev,etc/postern,etc/ssl/certs,proc,run/secrets/postern,sys,usr/bin,usr/lib/ssl,usr/lib64,usr/share/doc/postern,var/lib/dpkg/status.d}
for directory in bin lib lib64; do ln -s "usr/$directory" "$root/$directory"; done
install -d -m 1777 "$root/tmp"

# What mounts get as owner and mode: the socket's directory hands its group to what is made in it.
install -d -m 2770 -o $user -g $user "$root/run/postern"
install -d -m 0700 -o $user -g $user "$root/var/lib/postern"
install -d -m 0700 -o $user -g $user "$root/var/log/postern"

# The program, without debug information, and the libraries it is linked with. glibc brings name resolution along.
strip -o "$root/usr/bin/postern" "$binary"
chmod 755 "$root/usr/bin/postern"
libraries=$(ldd "$binary" | grep -o '/[^ ]*')
for library in $libraries; do
  case $library in
  */ld-linux*) mode=755 ;;
  /lib/* | /usr/lib/*) mode=644 ;;
  *) echo "assemble.sh: $library is no library of the system: build with --static-swift-stdlib" >&2; exit 1 ;;
  esac
  install -D -m $mode "$(readlink -f "$library")" "$root/usr${library#/usr}"
done

# The packages they are from. dpkg knows a file by the path it was installed to, with or without /usr.
packages=$(dpkg-query --search $(printf '*/%s\n' $(basename -a $libraries)) |
  awk -F ': ' -v wanted=" ${libraries//$'\n'/ } " '
    {path = $2; sub(/^\/usr/, "", path); sub(/:.*/, "", $1)}
    index(wanted, " " path " ") || index(wanted, " /usr" path " ") {if (!seen[path]++) print $1}')
if [ "$(wc -w <<<"$packages")" != "$(wc -w <<<"$libraries")" ]; then
  echo "assemble.sh: a library is from no package of the system" >&2
  exit 1
fi

# Certificate authorities, where libcurl and OpenSSL look for them.
install -m 644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
ln -s /etc/ssl/certs/ca-certificates.crt "$root/usr/lib/ssl/cert.pem"

cat >"$root/etc/passwd" <<END
root:x:0:0:root:/nonexistent:/usr/sbin/nologin
postern:x:$user:$user:postern:/nonexistent:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
END
cat >"$root/etc/group" <<END
root:x:0:
postern:x:$user:
nogroup:x:65534:
END
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"

# What scanners look for: the release, and each package's entry.
install -m 644 /usr/lib/os-release "$root/usr/lib/os-release"
ln -s ../usr/lib/os-release "$root/etc/os-release"
packages=$(printf '%s\n' ca-certificates $packages | sort -u)
dpkg-query --status $packages | awk -v folder="$root/var/lib/dpkg/status.d/" '
  /^Package: / {close(file); file = folder $2} NF {print >file}'
for package in $packages; do
  # Compressed, as Debian has its other documents: 0.6 MB less.
  mkdir -p "$root/usr/share/doc/$package"
  gzip -9n <"/usr/share/doc/$package/copyright" >"$root/usr/share/doc/$package/copyright.gz"
done

# Licences of the program and of what is linked into it.
install -m 644 "$source/LICENSE" "$root/usr/share/doc/postern/LICENSE"
for checkout in "$source"/.build/checkouts/{swift-argument-parser,swift-log}/; do
  documents="$root/usr/share/doc/postern/$(basename "$checkout")"
  [ ! -f "${checkout}NOTICE.txt" ] || install -D -m 644 "${checkout}NOTICE.txt" "$documents/NOTICE.txt"
  [ -f "${checkout}LICENSE.txt" ] || continue
  mkdir -p "$documents"
  gzip -9n <"${checkout}LICENSE.txt" >"$documents/LICENSE.txt.gz"
done

python3 "$here/sbom.py" "$root" "$source" >"$root/usr/share/doc/postern/postern.spdx.json"
