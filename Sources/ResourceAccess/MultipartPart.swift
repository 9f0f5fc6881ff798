public import PosternSupport

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
