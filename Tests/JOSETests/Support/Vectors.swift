import Foundation
import JOSE
import PosternJSON
import PosternSupport
import Testing

/// One entry of a file in `Vectors/`.
struct Vector: Sendable, CustomTestStringConvertible {
  let members: JSONObject

  var testDescription: String { string("name") }

  func string(_ name: String) -> String { members[name]?.stringValue ?? "" }

  func bytes(_ name: String) -> [UInt8] { Base64URL.decode(string(name)) ?? [] }

  func key() throws -> JWK { try JWK(json: #require(members["key"]?.objectValue)) }

  func keys() throws -> [JSONObject] { try #require(members["keys"]?.arrayValue).compactMap(\.objectValue) }

  /// The entries of `name`.json in the folder Vectors.
  static func load(_ name: String) -> [Vector] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let file = folder.appending(path: "Vectors/\(name).json")
    guard let text = try? Data(contentsOf: file), let value = try? JSONParser().parse(Array(text)) else { return [] }
    return (value.arrayValue ?? []).compactMap(\.objectValue).map(Vector.init(members:))
  }
}
