import Glibc
import PosternConfiguration
import PosternRuntime

/// The files and ports that the sidecar needs under a configuration.
struct SandboxPlan: Sendable {
  /// The access that stays allowed.
  private(set) var policy = SandboxPolicy()
  /// The directory of the file store.
  let storeDirectory: String?

  /// The configuration must have been read just now. `socketPath` is nil where the socket is inherited and no other can
  /// be made next to it; `gatewayPath` is that of the gateway's socket.
  init(
    _ loaded: ConfigurationLoader.Loaded, configurationPath: String, socketPath: String?, gatewayPath: String? = nil,
    environment: [String: String]
  ) {
    let configuration = loaded.configuration
    policy.readable = Self.system
    // libdispatch reads the state of its threads from /proc/THREAD/stat, which is not beneath /proc/self, and aborts
    // when it cannot.
    policy.openable = ["/proc"]
    if let path = environment["CREDENTIALS_DIRECTORY"], path.hasPrefix("/") { policy.readable.insert(path) }
    policy.readable.formUnion(Self.libraryDirectories())
    // The name service's configuration is a link where something else looks after it.
    policy.readable.formUnion(FileLocations.directories(ofFile: "/etc/resolv.conf"))
    if configuration.outbound.proxy?.auth == .negotiate {
      for file in Self.kerberosFiles(environment) { policy.readable.formUnion(FileLocations.directories(ofFile: file)) }
    }
    let files = loaded.reach.files.union(Self.deviceFiles(of: configuration))
      .union(configuration.issuers.values.flatMap(\.assertionFiles)).union([configurationPath])
    for file in files { policy.readable.formUnion(FileLocations.directories(ofFile: file)) }

    storeDirectory = configuration.store.kind == .file ? configuration.store.path : nil
    // Full files of the audit log are renamed, and new ones made.
    let auditDirectory = (configuration.audit?.path).map(FileLocations.directory)
    policy.writable = Set([storeDirectory, auditDirectory, "/dev/null"].compactMap { $0 })
    let gateway = configuration.gateway.listen
    for path in [socketPath, gatewayPath] {
      if let path { policy.socketDirectories.insert(FileLocations.directory(of: path)) }
    }
    policy.connectPorts = Self.limitsPorts(configuration) ? Self.ports(of: loaded) : nil
    policy.bindPorts = Set(
      [configuration.http.listen, gateway?.address].compactMap {
        $0?.split(separator: ":").last.flatMap { UInt16($0) }
      })
  }

  /// The files with devices' ids.
  static func deviceFiles(of configuration: PosternConfiguration) -> Set<String> {
    Set(configuration.preauthorization.values.filter { $0.kind == .adobePass }.compactMap(\.adobePass.deviceIDFile))
  }

  /// The files in which the Kerberos library finds credentials for a proxy (krb5.conf(5)): named by the environment, or
  /// the usual one.
  private static func kerberosFiles(_ environment: [String: String]) -> [String] {
    let named = ["KRB5CCNAME", "KRB5_CLIENT_KTNAME", "KRB5_CONFIG"].compactMap { environment[$0] }
    return (named.isEmpty ? ["/tmp/krb5cc_\(geteuid())"] : named)
      .map { $0.hasPrefix("FILE:") ? String($0.dropFirst(5)) : $0 }.filter { $0.hasPrefix("/") }
  }

  /// Whether connections are limited to known ports. Upstreams on loopback change theirs whenever they start, and a
  /// reload must reach them: in development that counts for more, unless the limit is required.
  static func limitsPorts(_ configuration: PosternConfiguration) -> Bool {
    configuration.hardening.landlock == .required || !configuration.development.plainHTTPOnLoopback
  }

  /// The ports of its URLs, https, and DNS over TCP.
  static func ports(of loaded: ConfigurationLoader.Loaded) -> Set<UInt16> {
    let configuration = loaded.configuration
    return Set(loaded.reach.ports.keys).union(configuration.hardening.connectPorts.map { UInt16($0) })
      .union([443, 53]).union(configuration.outbound.proxy?.auth == .negotiate ? [88] : [])
      .union(configuration.development.plainHTTPOnLoopback ? [80] : [])
  }

  /// Certificates, name service, time zones; libraries, of which the C library and OpenSSL load some when they are
  /// needed; what the C library learns the number of processors from.
  private static let system: Set<String> = [
    "/etc", "/usr/lib", "/usr/lib32", "/usr/lib64", "/lib", "/lib32", "/lib64", "/usr/local/lib",
    "/usr/share/zoneinfo", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
    "/usr/share/crypto-policies", "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager",
    "/var/lib/sss/mc", "/proc/self",
    "/proc/sys/crypto", "/sys/devices/system/cpu", "/sys/fs/cgroup", "/dev/urandom", "/dev/random", "/dev/null",
  ]

  /// Where the libraries that are loaded come from, wherever that is: others of the same package are next to them.
  private static func libraryDirectories() -> Set<String> {
    var directories: Set<String> = []
    guard let maps = fopen("/proc/self/maps", "re") else { return [] }
    defer { fclose(maps) }
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    while getline(&line, &capacity, maps) > 0, let text = line {
      guard let slash = strchr(text, CInt(UInt8(ascii: "/"))) else { continue }
      let path = String(cString: slash).split(separator: "\n").first.map(String.init) ?? ""
      if path.contains(".so") { directories.insert(FileLocations.directory(of: path)) }
    }
    free(line)
    return directories.subtracting(["/"])
  }
}
