import AuthEngine
import Foundation
import HTTPMessages

/// The invariants of every response in which advice is looked for.
public enum AdviceInvariants {
  /// Checks an input: the status in the first line, header lines, an empty line, the body. Returns the number of
  /// advices found.
  public static func check(_ input: [UInt8]) throws -> Int {
    let response = response(from: input)
    let strict = AdviceRecognizer().finding(in: response)
    if strict != nil {
      try demand(
        [401, 403].contains(response.status) || response.status / 100 == 3, "advice in an answer that is no denial")
    }
    if strict?.source == .redirect { try checkOrigin(response) }
    guard let finding = AdviceRecognizer(scope: .everyAnswer).finding(in: response) else {
      try demand(strict == nil, "advice in a denial is none in an answer")
      return 0
    }
    try demand((1...16).contains(finding.advices.count), "no advices, or too many")
    try demand(Set(finding.advices).count == finding.advices.count, "an advice twice")
    for advice in finding.advices { try check(advice) }
    return finding.advices.count
  }

  private static func check(_ advice: PolicyAdvice) throws {
    if advice.type == PolicyAdvice.Name.insufficientUserAuthentication {
      return try demand(advice.value.isEmpty && advice.maxAge ?? 0 >= 0, "a challenge with an impossible requirement")
    }
    try demand(!advice.value.isEmpty && advice.value.utf8.count <= 4096, "the size of a value")
    try demand(advice.txId == nil || advice.txId == advice.value, "another transaction")
    guard advice.type != PolicyAdvice.Name.umaTicket else { return }
    guard let xml = CompositeAdvice.xml([advice]) else {
      throw InvariantViolation(description: "advice that is no XML")
    }
    // By a second reading: what was escaped cannot begin or end anything.
    try demand(xml.components(separatedBy: "<").count == 8, "a value breaks out of the XML")
    let plain = PolicyAdvice(type: advice.type, value: advice.value)
    try demand(CompositeAdvice.advices(xml: Array(xml.utf8)) == [plain], "XML that is read as another advice")
    let once = PercentEncoding.encode(xml, for: .pathSegment)
    let base64 = Data(xml.utf8).base64EncodedString()
    for value in [once, FormEncoding.encode(xml), PercentEncoding.encode(once, for: .pathSegment), base64] {
      let location = "https://am.test/?authIndexType=composite_advice&authIndexValue=\(value)"
      let redirect = HTTPResponse(status: 302, fields: HTTPFields([.init(name: "location", value: location)]))
      try demand(AdviceRecognizer().finding(in: redirect)?.advices == [plain], "advice lost in a URL")
    }
  }

  /// With an access manager configured only its own redirects count.
  private static func checkOrigin(_ response: HTTPResponse) throws {
    guard let manager = try? HTTPURL("https://am.test/am") else { return }
    let location = response.fields["Location"] ?? ""
    guard AdviceRecognizer(accessManager: manager).finding(in: response)?.source == .redirect else { return }
    let scheme = location.prefix(8).lowercased()
    try demand(scheme == "https://", "advice of another scheme")
    // RFC 3986 section 3.2.
    let host = location.dropFirst(8).prefix { !"/?#".contains($0) }.lowercased()
    try demand(
      ["am.test", "am.test:", "am.test:443"].contains(host) || host.hasPrefix("am.test:0"), "advice of another server")
  }

  private static func response(from input: [UInt8]) -> HTTPResponse {
    var rest = input[...]
    func line() -> String {
      let bytes = rest.prefix { $0 != UInt8(ascii: "\n") }
      rest = rest.dropFirst(bytes.count + 1)
      return String(decoding: bytes, as: UTF8.self)
    }
    let status = Int(line()).flatMap { (100...599).contains($0) ? $0 : nil } ?? 401
    var fields = HTTPFields()
    while !rest.isEmpty {
      let text = line()
      guard !text.isEmpty else { break }
      let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      fields.append(String(halves[0]), halves.count > 1 ? String(halves[1].drop { $0 == " " }) : "")
    }
    return HTTPResponse(status: status, fields: fields, body: Array(rest))
  }
}
