import Glibc

/// The environment variables that libcurl, OpenSSL, SQLite and the C library heed on their own: with them whoever
/// starts the process would change where it connects to, whom it trusts, which code it loads, or have it write down the
/// keys of its connections.
public enum LibraryEnvironment {
  /// Which variable gets which treatment: the first rule that covers it. What none covers stays.
  public static let rules = [
    EnvironmentRule(
      ["SSLKEYLOGFILE"], .removedWithWarning,
      "libcurl (and OpenSSL from 3.5 on) would write the keys of TLS connections to a file"),
    EnvironmentRule(
      ["QLOGDIR", "OSSL_QFILTER"], .removedWithWarning,
      "libcurl and OpenSSL would write what happens on QUIC connections to files"),
    EnvironmentRule(
      ["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE"], .removedWithWarning,
      "some connections would trust other authorities, and others not",
      instead:
        "`caFile` in `tls` of an issuer or a resource, in `store.redis` or `telemetry.otlp`, or the system's authorities"
    ),
    EnvironmentRule(
      ["OPENSSL_ia32cap", "OPENSSL_armcap", "OPENSSL_ppccap", "OPENSSL_riscvcap", "OPENSSL_s390xcap"], .warning,
      "OpenSSL goes without instructions of the processor, and computes in ways that take longer or leak more through time"
    ),
    EnvironmentRule(
      ["OPENSSL_FORCE_FIPS_MODE"], .kept, "it allows less, never more (Red Hat's OpenSSL)"),
    EnvironmentRule(
      ["OPENSSL_*", "CTLOG_FILE", "RANDFILE"], .removedWithWarning,
      "OpenSSL would take other settings, or load code: configuration, engines, providers, traces",
      instead: "the system's `openssl.cnf`"),
    EnvironmentRule(
      [
        "http_proxy", "https_proxy", "ftp_proxy", "ws_proxy", "wss_proxy", "all_proxy", "no_proxy", "HTTP_PROXY",
        "HTTPS_PROXY", "FTP_PROXY", "WS_PROXY", "WSS_PROXY", "ALL_PROXY", "NO_PROXY",
      ], .removedWithWarning, "libcurl and OpenSSL would send requests through it; they are sent directly"),
    EnvironmentRule(
      ["CURL_*", "NETRC", "NTLMUSER"], .removedWithWarning,
      "libcurl would take another TLS library, or debug itself; its tool would read settings and passwords"),
    EnvironmentRule(
      [
        "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "RESOLV_HOST_CONF", "RESOLV_SPOOF_CHECK", "RESOLV_MULTI",
        "RESOLV_REORDER", "RESOLV_ADD_TRIM_DOMAINS", "RESOLV_OVERRIDE_TRIM_DOMAINS", "NIS_PATH", "NIS_GROUP",
        "NIS_DEFAULTS",
      ], .removedWithWarning, "the C library would resolve host names to something else",
      instead: "`/etc/resolv.conf`, `/etc/hosts`"),
    EnvironmentRule(
      ["GCONV_PATH", "GETCONF_DIR", "LOCPATH", "NLSPATH"], .removedWithWarning,
      "the C library would load code, locales or messages from there"),
    EnvironmentRule(
      ["TZ", "TZDIR"], .removed, "the C library would read the file; all times are UTC"),
    EnvironmentRule(
      ["TMPDIR", "SQLITE_TMPDIR"], .removed, "SQLite would put temporary files there; it keeps them in memory"),
    EnvironmentRule(
      ["LD_LIBRARY_PATH", "LD_BIND_NOW"], .kept,
      "the loader reads them before the program begins: where libraries are, and when they are bound"),
    EnvironmentRule(["LD_*"], .warning, "the loader loads code, or reports, as it says"),
    EnvironmentRule(
      ["GLIBC_TUNABLES", "MALLOC_*"], .kept,
      "the C library reads them before the program begins; it is how memory is tuned"),
    EnvironmentRule(
      ["HOME", "USER", "LOGNAME", "PATH", "XDG_*"], .kept,
      "defaults of paths are made of some; libcurl reads no `.netrc`, and no program is started"),
    EnvironmentRule(
      ["LANG", "LANGUAGE", "LC_*"], .kept,
      "the C library heeds them where a program asks for a locale, which this one does not"),
  ]

  /// A variable that was set and is worth a warning. Its value is nobody's business: it may hold a password.
  public struct Finding: Sendable, Equatable {
    /// Its name.
    public let name: String
    /// What is said of it.
    public let message: String
  }

  /// Removes what the rules say from this process's environment, and returns what to warn of. To be called before there
  /// is another thread, and before libcurl or OpenSSL is made use of: they read some when they begin.
  public static func clear() -> [Finding] {
    let names = variables()
    for name in names {
      switch rule(for: name)?.treatment {
      case .removed, .removedWithWarning: unsetenv(name)
      case .warning, .kept, nil: break
      }
    }
    return names.compactMap(finding)
  }

  static func rule(for name: String) -> EnvironmentRule? { rules.first { $0.covers(name) } }

  static func finding(of name: String) -> Finding? {
    guard let rule = rule(for: name) else { return nil }
    let instead = rule.instead.map { "; instead: \($0)" } ?? ""
    switch rule.treatment {
    case .removedWithWarning:
      return Finding(name: name, message: "\(name) was removed from the environment: \(rule.reason)\(instead)")
    case .warning:
      return Finding(name: name, message: "\(name) was heeded before the program began: \(rule.reason)\(instead)")
    case .removed, .kept: return nil
    }
  }

  /// The names of all that are set.
  private static func variables() -> [String] {
    var names: Set<String> = []
    var entry = environ
    while let text = entry.pointee {
      // By bytes: the first of the value may be a scalar that makes one character of itself and the equals sign.
      let name = UnsafeBufferPointer(start: text, count: strcspn(text, "=")).map { UInt8(bitPattern: $0) }
      names.insert(String(decoding: name, as: UTF8.self))
      entry = entry.successor()
    }
    return names.sorted()
  }
}
