/// `/text?charset=utf-8|iso-8859-1|utf-16|none`: the same sentence in different encodings.
struct TextEndpoint: Endpoint {
  private static let sentence = "Grüße aus Köln, naïve café\n"

  func reply(to request: Request) async throws -> Reply {
    let charset = request.queryParameters?["charset"]?.lowercased() ?? "utf-8"
    let bytes: [UInt8]
    switch charset {
    case "utf-8", "none": bytes = Array(Self.sentence.utf8)
    case "iso-8859-1": bytes = Self.sentence.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    case "utf-16":
      bytes = ([0xfeff] + Array(Self.sentence.utf16)).flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    default: return .problem(400, "charset: one of utf-8, iso-8859-1, utf-16, none is expected")
    }
    return Reply(type: charset == "none" ? "text/plain" : "text/plain; charset=\(charset)", bytes: bytes)
  }
}
