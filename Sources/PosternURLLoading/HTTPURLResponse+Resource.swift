import AuthEngine
import Foundation
import HTTPMessages

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPURLResponse {
  /// The head of an answer; of fields that come several times the values are joined (RFC 9110 section 5.3).
  convenience init?(_ response: ResourceResponse) {
    guard let url = URL(string: "\(response.url)") else { return nil }
    var fields: [String: String] = [:]
    var names: [String: String] = [:]
    for line in response.fields.lines {
      let name = names[line.name.lowercased(), default: line.name]
      names[line.name.lowercased()] = name
      fields[name] = fields[name].map { "\($0), \(line.value)" } ?? line.value
    }
    self.init(url: url, statusCode: response.status, httpVersion: "HTTP/1.1", headerFields: fields)
  }
}
