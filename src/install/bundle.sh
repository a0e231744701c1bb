#!/bin/sh
# Makes a bundle, from which install.sh installs the service without any network: "npm run bundle -- [FILE]". It holds
# the installer, the program with its production packages and Node.js, and checksums of all files, for this platform.
set -eu
umask 022

here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)
# shellcheck disable=SC2034 # the parts use them
print=no bundle='' npm_cache='' packages='' database=''
temporary=$(mktemp -d)
# shellcheck disable=SC2034 # as above
output=$temporary/output
trap 'rm -rf "$temporary"' EXIT
trap 'exit 130' HUP INT TERM
for part in messages host release; do
  # shellcheck source=/dev/null # the parts are checked one by one
  . "$here/src/install/parts/$part.sh"
done
case $(uname -m) in
  x86_64) platform=linux-x64 ;;
  *) platform=linux-arm64 ;;
esac
new_release=$(find_release)
file=${1:-$here/service-$new_release-$platform.tgz}
staging=$temporary/bundle

step "Prepare release $new_release"
mkdir -p "$staging"
build_release
rm -rf "$staging/node" "$staging/npm"
cp "$here/install.sh" "$staging/install.sh"
printf '%s\n' "$new_release" >"$staging/RELEASE"
step 'Compute the checksums and pack'
(
  cd "$staging"
  find install.sh RELEASE service -type f -exec sha256sum {} + | LC_ALL=C sort -k 2 >SHA256SUMS
  # The first entries are what install.sh reads before it unpacks everything.
  tar --owner=0 --group=0 --numeric-owner --sort=name -czf "$file.new" RELEASE install.sh SHA256SUMS \
    service/src/install/parts --exclude=service/src/install/parts service
)
mv "$file.new" "$file"
(cd "$(dirname -- "$file")" && sha256sum "$(basename -- "$file")" >"$(basename -- "$file").sha256")
note "$file ($(du -m "$file" | cut -f 1) MiB). To install it, copy it with $here/install.sh to the host and run:"
note "  sh install.sh --bundle $(basename -- "$file")"
