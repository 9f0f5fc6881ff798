import Glibc

/// The environment variables that libcurl, OpenSSL, SQLite and the C library read on their own, regardless of the
/// configuration. They change which servers the process connects to and trusts and which code it loads, or make it
/// write the keys of its connections to a file.
public enum LibraryEnvironment {
  /// The rules; the first one that covers a variable applies. Variables without a rule stay.
  public static let rules = [
    EnvironmentRule(
      ["SSLKEYLOGFILE"], .removedWithWarning,
      "libcurl (and OpenSSL from 3.5 on) would write the keys of TLS connections to a file"),
    EnvironmentRule(
      ["QLOGDIR", "OSSL_QFILTER"], .removedWithWarning,
      "libcurl and OpenSSL would write traces of QUIC connections to files"),
    EnvironmentRule(
      ["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE"], .removedWithWarning,
      "some connections would trust other authorities, and others not",
      instead:
        "`caFile` in `tls` of an issuer, a resource, a decision point or `validation`, in `store.redis` or `telemetry.otlp`, or the system's authorities"
    ),
    EnvironmentRule(
      ["OPENSSL_ia32cap", "OPENSSL_armcap", "OPENSSL_ppccap", "OPENSSL_riscvcap", "OPENSSL_s390xcap"], .warning,
      "OpenSSL does without some instructions of the processor, and uses slower code or code with weaker protection against timing attacks"
    ),
    EnvironmentRule(
      ["OPENSSL_FORCE_FIPS_MODE"], .kept, "it allows less, never more (Red Hat's OpenSSL)"),
    EnvironmentRule(
      ["OPENSSL_*", "CTLOG_FILE", "RANDFILE"], .removedWithWarning,
      "OpenSSL would use other settings, or load code: configuration, engines, providers, traces",
      instead: "the system's `openssl.cnf`"),
    EnvironmentRule(
      [
        "http_proxy", "https_proxy", "ftp_proxy", "ws_proxy", "wss_proxy", "all_proxy", "no_proxy", "HTTP_PROXY",
        "HTTPS_PROXY", "FTP_PROXY", "WS_PROXY", "WSS_PROXY", "ALL_PROXY", "NO_PROXY",
      ], .removedWithWarning,
      "libcurl and OpenSSL would choose a proxy by it, without an entry in the configuration",
      instead: "`outbound.proxy`"),
    EnvironmentRule(
      ["KRB5CCNAME", "KRB5_CLIENT_KTNAME", "KRB5_CONFIG"], .kept,
      "`outbound.proxy.auth: negotiate` finds its credentials by them; without it they are removed"),
    EnvironmentRule(
      ["KRB5*", "GSS_*", "GSSAPI_*"], .removedWithWarning,
      "the Kerberos library would load code, or write traces to a file"),
    EnvironmentRule(
      ["CURL_*", "NETRC", "NTLMUSER"], .removedWithWarning,
      "libcurl would use another TLS library, or its debug options; the `curl` tool would read settings and passwords"),
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
      "the loader reads them before the program starts: where libraries are, and when they are bound"),
    EnvironmentRule(["LD_*"], .warning, "they make the loader load code, or report what it does"),
    EnvironmentRule(
      ["GLIBC_TUNABLES", "MALLOC_*"], .kept,
      "the C library reads them before the program starts; they tune the use of memory"),
    EnvironmentRule(
      ["HOME", "USER", "LOGNAME", "PATH", "XDG_*"], .kept,
      "some default paths depend on them; libcurl does not read `.netrc`, and no program is started"),
    EnvironmentRule(
      ["LANG", "LANGUAGE", "LC_*"], .kept,
      "the C library reads them only in programs that set a locale, which this one does not"),
  ]

  /// A warning about a variable that was set. Without its value, which may be a password.
  public struct Finding: Sendable, Equatable {
    /// Its name.
    public let name: String
    /// The warning.
    public let message: String
  }

  /// Removes variables from this process's environment by the rules, and returns the warnings. Must be called before
  /// another thread is started, and before libcurl or OpenSSL is used: they read some when they are initialized.
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

  /// Removes the variables of the Kerberos library, where nothing authenticates by it. Must be called before another
  /// thread is started.
  public static func clearKerberos() {
    for name in ["KRB5CCNAME", "KRB5_CLIENT_KTNAME", "KRB5_CONFIG"] { unsetenv(name) }
  }

  static func rule(for name: String) -> EnvironmentRule? { rules.first { $0.covers(name) } }

  static func finding(of name: String) -> Finding? {
    guard let rule = rule(for: name) else { return nil }
    let instead = rule.instead.map { "; instead: \($0)" } ?? ""
    switch rule.treatment {
    case .removedWithWarning:
      return Finding(name: name, message: "\(name) was removed from the environment: \(rule.reason)\(instead)")
    case .warning:
      return Finding(name: name, message: "\(name) had an effect before the program started: \(rule.reason)\(instead)")
    case .removed, .kept: return nil
    }
  }

  /// The names of all that are set.
  private static func variables() -> [String] {
    var names: Set<String> = []
    var entry = environ
    while let text = entry.pointee {
      // By bytes: the value may begin with a combining scalar, which makes one character of itself and the equals sign.
      let name = UnsafeBufferPointer(start: text, count: strcspn(text, "=")).map { UInt8(bitPattern: $0) }
      names.insert(String(decoding: name, as: UTF8.self))
      entry = entry.successor()
    }
    return names.sorted()
  }
}

/// A rule for environment variables that libraries read on their own.
public struct EnvironmentRule: Sendable, Equatable {
  /// The treatment of a variable that is set.
  public enum Treatment: String, Sendable {
    /// Removed, with a warning, because the user may expect an effect of it.
    case removedWithWarning = "removed, with a warning"
    /// Removed without a warning: it is set for other programs, and has no effect here.
    case removed
    /// Not removed, since it is too late; a warning describes its effect.
    case warning = "a warning: it has its effect before the program starts"
    /// Not removed.
    case kept
  }

  /// The variables; a name that ends in `*` stands for all with that prefix.
  public let names: [String]
  /// The treatment of these variables.
  public let treatment: Treatment
  /// The effect of the variables, or the reason why they are kept.
  public let reason: String
  /// The supported alternative.
  public let instead: String?

  init(_ names: [String], _ treatment: Treatment, _ reason: String, instead: String? = nil) {
    self.names = names
    self.treatment = treatment
    self.reason = reason
    self.instead = instead
  }

  func covers(_ variable: String) -> Bool {
    names.contains { name in
      name.utf8.last == UInt8(ascii: "*") ? variable.utf8.starts(with: name.utf8.dropLast()) : name == variable
    }
  }
}
