import AuthEngine
import HTTPMessages
import PosternSupport

/// Answers that hold advice in every form there is.
enum AdviceVectors {
  static let transaction = "TransactionConditionAdvice"
  static let service = "AuthenticateToServiceConditionAdvice"
  static let txId = "7b8bfd4c-60fe-4271-928d-d09b94496f84"
  static let xml = document([(transaction, txId)])

  static func document(_ pairs: [(String, String)]) -> String {
    let inside = pairs.map {
      "<AttributeValuePair><Attribute name=\"\($0.0)\"/><Value>\($0.1)</Value></AttributeValuePair>"
    }
    return "<Advices>\(inside.joined())</Advices>"
  }

  static func escaped(_ text: String) -> String { PercentEncoding.encode(text, for: .pathSegment) }

  static func location(_ value: String, type: String = "composite_advice") -> String {
    "https://am.test/am/?goto=http://ig.test/products?_txid%3D\(txId)&realm=/&authIndexType=\(type)&authIndexValue=\(value)"
  }

  static func redirect(_ location: String, status: Int = 307) -> HTTPResponse {
    HTTPResponse(status: status, fields: HTTPFields([.init(name: "Location", value: location)]))
  }

  static func challenge(_ value: String, status: Int = 401) -> HTTPResponse {
    HTTPResponse(status: status, fields: HTTPFields([.init(name: "www-authenticate", value: value)]))
  }

  static func body(_ text: String, status: Int = 403) -> HTTPResponse {
    HTTPResponse(status: status, body: Array(text.utf8))
  }
}
