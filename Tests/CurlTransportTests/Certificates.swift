import Foundation

/// Two authorities that do not know each other, and certificates of all sorts, made by openssl for one test run.
struct Certificates: Sendable {
  struct Failure: Error { let output: String }

  let folder: String

  var authority: String { path("a.pem") }
  var otherAuthority: String { path("b.pem") }

  func certificate(_ name: String) -> String { path("\(name).pem") }
  func key(_ name: String) -> String { path("\(name).key") }

  init(in folder: String) throws {
    self.folder = folder
    let ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    for name in ["a", "b"] {
      try openssl(
        ["req", "-x509"] + ec + [
          "-keyout", key(name), "-out", path("\(name).pem"), "-subj", "/CN=Test \(name)", "-days", "2",
        ])
    }
    let sites: [(name: String, alternative: String, authority: String, days: String)] = [
      ("good", "DNS:localhost,IP:127.0.0.1", "a", "2"), ("other", "DNS:localhost,IP:127.0.0.1", "b", "2"),
      ("wrong", "DNS:elsewhere.example", "a", "2"), ("expired", "DNS:localhost,IP:127.0.0.1", "a", "-1"),
    ]
    for site in sites {
      let request = path("\(site.name).csr")
      try openssl(
        ["req"] + ec + [
          "-keyout", key(site.name), "-out", request, "-subj", "/CN=\(site.name)", "-addext",
          "subjectAltName=\(site.alternative)",
        ])
      try openssl([
        "x509", "-req", "-in", request, "-CA", path("\(site.authority).pem"), "-CAkey", key(site.authority),
        "-CAcreateserial",
        "-copy_extensions", "copyall", "-days", site.days, "-out", certificate(site.name),
      ])
    }
  }

  private func path(_ name: String) -> String { "\(folder)/\(name)" }

  private func openssl(_ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure(output: text) }
  }
}
