import HTTPMessages

/// What header fields a caller may give; every fault is `invalid_headers` with the path of the offending one.
struct HeaderRules {
  static let maxLines = 256
  static let maxBytes = 64 << 10

  let reservedCookies: Set<String>

  /// The fields as they are sent: values trimmed, `Accept-Encoding` left out, since content codings are negotiated and
  /// undone by the transport.
  func checked(_ headers: HTTPFields) throws(ResourceError) -> HTTPFields {
    guard headers.lines.count <= Self.maxLines else { throw fault("there are more than \(Self.maxLines) headers") }
    var result = HTTPFields()
    var size = 0
    for line in headers.lines {
      guard HTTPFieldRules.isName(line.name) else { throw fault("a header's name is no token", at: line.name) }
      guard !HTTPFieldRules.isReserved(line.name) else { throw fault("the header is reserved", at: line.name) }
      guard HTTPFieldRules.isValue(line.value) else {
        throw fault("the header's value holds a control character", at: line.name)
      }
      size += line.name.utf8.count + line.value.utf8.count
      guard size <= Self.maxBytes else { throw fault("the headers are larger than \(Self.maxBytes) bytes") }
      switch line.name.lowercased() {
      case "cookie": try checkCookies(line)
      case "content-type":
        guard result["Content-Type"] == nil else { throw fault("the header is given twice", at: line.name) }
      case "accept-encoding": continue
      default: break
      }
      result.append(line.name, HTTPFieldRules.trimmed(line.value))
    }
    return result
  }

  /// Cookie names are compared without case: servers differ, and the reserved one must not pass in any spelling.
  private func checkCookies(_ line: HTTPFields.Field) throws(ResourceError) {
    guard !reservedCookies.isEmpty else { return }
    let reserved = reservedCookies.map { $0.lowercased() }
    for pair in line.value.split(whereSeparator: { $0 == ";" || $0 == "," }) {
      let name = HTTPFieldRules.trimmed(String(pair.prefix { $0 != "=" })).lowercased()
      if reserved.contains(name) { throw fault("the header holds the single sign-on cookie", at: line.name) }
    }
  }

  private func fault(_ detail: String, at name: String? = nil) -> ResourceError {
    let escaped = name.map { name in
      String(decoding: name.utf8.prefix(256), as: UTF8.self).map { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }
        .joined()
    }
    return ResourceError(.invalidHeaders, detail, path: escaped.map { "/headers/\($0)" } ?? "/headers")
  }
}
