import Foundation

/// Two authorities that do not know each other, and certificates of all sorts, made by openssl for one test run.
struct Certificates: Sendable {
  struct Failure: Error { let output: String }

  let folder: String

  var authority: String { path("a.pem") }
  var otherAuthority: String { path("b.pem") }

  func certificate(_ name: String) -> String { path("\(name).pem") }
  func key(_ name: String) -> String { path("\(name).key") }

  /// The SHA-256 of the certificate's public key, as a pin.
  func pin(_ name: String) throws -> String {
    let script = """
      openssl x509 -in "$0" -noout -pubkey | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | base64
      """
    let text = try run("/bin/sh", ["-c", script, path("\(name).pem")])
    return "sha256/\(text.trimmingCharacters(in: .whitespacesAndNewlines))"
  }

  init(in folder: String) throws {
    self.folder = folder
    let ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    for name in ["a", "b"] {
      try openssl(
        ["req", "-x509"] + ec + [
          "-keyout", key(name), "-out", path("\(name).pem"), "-subj", "/CN=Test \(name)", "-days", "2",
        ])
    }
    // An authority below A. Its children come after it.
    let below = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"]
    try openssl(
      ["req"] + ec + ["-keyout", key("middle"), "-out", path("middle.csr"), "-subj", "/CN=middle"]
        + below.flatMap { ["-addext", $0] })
    try openssl([
      "x509", "-req", "-in", path("middle.csr"), "-CA", path("a.pem"), "-CAkey", key("a"), "-CAcreateserial",
      "-copy_extensions", "copyall", "-days", "2", "-out", path("middle.pem"),
    ])
    let sites: [(name: String, alternative: String, authority: String, days: String)] = [
      ("deep", "DNS:localhost,IP:127.0.0.1", "middle", "2"), ("alice", "DNS:alice", "a", "2"),
      ("bob", "DNS:bob", "a", "2"), ("lapsed", "DNS:lapsed", "a", "-1"),
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
    let chain = try ["deep", "middle"].map { try String(contentsOfFile: certificate($0), encoding: .utf8) }
    try chain.joined().write(toFile: certificate("chain"), atomically: true, encoding: .utf8)
    try FileManager.default.copyItem(atPath: key("deep"), toPath: key("chain"))
    try addCompany()
  }

  /// `good` with certificates behind it that belong to nothing: `NAME.pem` and `NAME.key`.
  private func addCompany() throws {
    let names = (0..<1100).map { "DNS:\($0).a-name-that-is-not-short.example" }.joined(separator: ",")
    try accompany("costlyExponent", by: [["rsa:2048", "-pkeyopt", "rsa_keygen_pubexp:36893488147419103233"]])
    let parameters = ["-pkeyopt", "ec_paramgen_curve:P-256", "-pkeyopt", "ec_param_enc:explicit"]
    try accompany("costlyCurve", by: [["ec"] + parameters])
    try accompany("otherCurve", by: [["ec", "-pkeyopt", "ec_paramgen_curve:secp224r1"]])
    try accompany("tooMany", by: Array(repeating: ["ed25519"], count: 10))
    try accompany("tooLarge", by: [["ed25519", "-addext", "subjectAltName=\(names)"]])
    try accompany(
      "manySorts",
      by: [["rsa:3072"], ["rsa-pss"], ["ed25519"], ["ed448"]]
        + ["P-256", "P-384", "P-521"].map { ["ec", "-pkeyopt", "ec_paramgen_curve:\($0)"] })
  }

  private func accompany(_ name: String, by keys: [[String]]) throws {
    var files = [certificate("good")]
    for (index, newKey) in keys.enumerated() {
      files.append(path("\(name)\(index).pem"))
      let output = ["-keyout", path("company.key"), "-out", path("\(name)\(index).pem")]
      try openssl(["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=company"] + output + ["-newkey"] + newKey)
    }
    let texts = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }
    try texts.joined().write(toFile: certificate(name), atomically: true, encoding: .utf8)
    try FileManager.default.copyItem(atPath: key("good"), toPath: key(name))
  }

  func path(_ name: String) -> String { "\(folder)/\(name)" }

  private func openssl(_ arguments: [String]) throws { _ = try run("/usr/bin/openssl", arguments) }

  private func run(_ program: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure(output: text) }
    return text
  }
}
