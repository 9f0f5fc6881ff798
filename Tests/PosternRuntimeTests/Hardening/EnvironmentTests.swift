import Foundation
import Testing

@testable import PosternRuntime

@Suite("Variables that libraries read on their own")
struct EnvironmentTests {
  @Test("a variable that changes what libraries do stays, or its value is logged")
  func cleared() throws {
    let set = [
      // U+0301 and the equals sign before it are one character.
      "SSLKEYLOGFILE": "\u{301}never-made", "HTTPS_PROXY": "http://name:hidden@proxy.test", "no_proxy": "all",
      "SSL_CERT_FILE": "/x", "OPENSSL_CONF": "/x", "OPENSSL_NEW_IN_4": "x", "RES_OPTIONS": "x", "GCONV_PATH": "/x",
      "CURL_HOME": "/x", "TZ": ":/x", "TMPDIR": "/x", "MALLOC_ARENA_MAX": "2", "LANG": "C", "HOME": "/x",
      "POSTERN__LOG__LEVEL": "debug", "OWN": "SSLKEYLOGFILE=x",
    ]
    let lines = try Probe(["environment"], environment: set).lines
    let left = Set(lines.filter { $0.hasPrefix("left ") })
    #expect(
      left == [
        "left MALLOC_ARENA_MAX=2", "left LANG=C", "left HOME=/x", "left POSTERN__LOG__LEVEL=debug",
        "left OWN=SSLKEYLOGFILE=x",
      ])
    let warnings = lines.filter { !$0.hasPrefix("left ") }
    let warned = [
      "CURL_HOME", "GCONV_PATH", "HTTPS_PROXY", "OPENSSL_CONF", "OPENSSL_NEW_IN_4", "RES_OPTIONS", "SSLKEYLOGFILE",
      "SSL_CERT_FILE", "no_proxy",
    ]
    #expect(warnings.map { $0.prefix { $0 != " " } } == warned.map { $0[...] })
    #expect(!warnings.joined().contains("hidden"))
    #expect(warnings.contains { $0.hasPrefix("SSL_CERT_FILE") && $0.contains("caFile") })
  }

  @Test("a variable that had its effect before the program started is not reported, or as removed")
  func tooLate() {
    for name in ["LD_PRELOAD", "LD_AUDIT", "OPENSSL_ia32cap"] {
      #expect(
        LibraryEnvironment.finding(of: name)?.message.contains("had an effect before the program started") == true)
    }
    for name in ["LD_LIBRARY_PATH", "GLIBC_TUNABLES", "TZ", "MINE", "LD", "sslkeylogfile"] {
      #expect(LibraryEnvironment.finding(of: name) == nil)
    }
  }

  @Test("the page about hardening differs from the rules")
  func page() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(contentsOf: root.appendingPathComponent("proto-docs/hardening.md"), encoding: .utf8)
    let rows = LibraryEnvironment.rules.map { rule in
      let names = rule.names.map { "`\($0)`" }.joined(separator: " ")
      let instead = rule.instead.map { "; instead: \($0)" } ?? ""
      return "| \(names) | \(rule.treatment.rawValue) | \(rule.reason)\(instead) |"
    }
    #expect(page.contains(rows.joined(separator: "\n")), "\(rows.joined(separator: "\n"))")
  }
}
