import HTTPMessages
import OAuthClient
import PosternCrypto
public import PosternSupport

/// A `multipart/form-data` body (RFC 7578): fields first, then parts in order.
struct MultipartBody {
  let contentType: String
  let bytes: [UInt8]

  /// Puts `fields` and `parts` together. The boundary is random, so that no content can hold it on purpose.
  init(fields: [ParameterEncoder.Pair], parts: [MultipartPart], limit: Int) throws(ResourceError) {
    let boundary = "postern-" + Base64URL.string(SecureRandom.bytes(24))
    contentType = "multipart/form-data; boundary=\(boundary)"
    var bytes: [UInt8] = []
    bytes.reserveCapacity(min(limit, parts.reduce(256) { $0 + $1.data.count + 256 }))
    func add(_ head: String, _ content: some Collection<UInt8>) {
      bytes += Array("--\(boundary)\r\nContent-Disposition: form-data; \(head)\r\n\r\n".utf8)
      bytes += content
      bytes += [0x0D, 0x0A]
    }
    for field in fields { add("name=\"\(Self.escaped(field.name))\"", (field.value ?? "").utf8) }
    for (index, part) in parts.enumerated() {
      guard !part.name.isEmpty, !part.name.utf8.contains(0), part.fileName?.utf8.contains(0) != true else {
        throw ResourceError(
          .invalidParams, "a part's name is empty or holds NUL", path: ["multipart", .position(index), "name"])
      }
      var head = "name=\"\(Self.escaped(part.name))\""
      if let fileName = part.fileName { head += "; filename=\"\(Self.escaped(fileName))\"" }
      if let type = part.mimeType ?? (part.fileName == nil ? nil : "application/octet-stream") {
        guard MediaType(type) != nil, HTTPFieldRules.isValue(type) else {
          throw ResourceError(.invalidHeaders, "no media type", path: ["multipart", .position(index), "mimeType"])
        }
        head += "\r\nContent-Type: \(HTTPFieldRules.trimmed(type))"
      }
      add(head, part.data)
      guard bytes.count <= limit else { break }
    }
    bytes += Array("--\(boundary)--\r\n".utf8)
    guard bytes.count <= limit else {
      throw ResourceError(.invalidURL, "the body takes more than \(limit) bytes", path: ["multipart"])
    }
    self.bytes = bytes
  }

  /// As the HTML standard has it for form data: a quote and line breaks are percent-encoded, a line break being CR LF;
  /// everything else is written as it is, in UTF-8.
  private static func escaped(_ name: String) -> String {
    var result: [UInt8] = []
    var previous: UInt8 = 0
    for byte in name.utf8 {
      switch byte {
      case 0x22: result += Array("%22".utf8)
      case 0x0D: result += Array("%0D%0A".utf8)
      case 0x0A where previous == 0x0D: break
      case 0x0A: result += Array("%0D%0A".utf8)
      default: result.append(byte)
      }
      previous = byte
    }
    return String(decoding: result, as: UTF8.self)
  }
}

/// One part of a `multipart/form-data` body (RFC 7578): a file, or a field with a type of its own.
public struct MultipartPart: Sendable, ConciseStringConvertible {
  /// The field's name.
  public var name: String
  /// The file's name; nil for what is no file.
  public var fileName: String?
  /// The part's media type; nil: `application/octet-stream` for a file, none for a field.
  public var mimeType: String?
  /// The content.
  public var data: [UInt8]
  /// Name, type and size: never contents.
  public var description: String {
    Concise.text(
      "part \(Concise.name(name))", fileName.map { "file \(Concise.name($0))" }, mimeType.map { Concise.name($0) },
      Concise.count(data.count, "byte"))
  }

  /// A part of that name.
  public init(name: String, fileName: String? = nil, mimeType: String? = nil, data: [UInt8]) {
    self.name = name
    self.fileName = fileName
    self.mimeType = mimeType
    self.data = data
  }
}
