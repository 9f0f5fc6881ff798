import NIOHTTP1
import PosternJSON
import PosternSupport

/// The latest requests, for tests that compare their bytes.
final class AdobePassLog: Sendable {
  private static let limit = 64

  private let entries = Locked<[JSONValue]>([])

  /// The latest requests, the oldest first.
  var json: JSONValue { .array(entries.withLock { $0 }) }

  /// Adds one.
  func note(_ request: Request, device: String) {
    let resources = (try? JSONParser(maxDepth: 8).parse(request.body))?["resources"] ?? .null
    func field(_ name: String) -> JSONValue { request.headers.first(name: name).map(JSONValue.string) ?? .null }
    let entry: JSONValue = [
      "path": .string(request.path), "device": .string(device), "identifier": field("ap-device-identifier"),
      "information": field("x-device-info"), "contentType": field("content-type"), "resources": resources,
    ]
    entries.withLock { entries in
      entries.append(entry)
      if entries.count > Self.limit { entries.removeFirst() }
    }
  }

  /// Forgets them.
  func clear() { entries.withLock { $0 = [] } }
}
