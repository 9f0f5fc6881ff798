import AuthEngine
import PosternJSONRPC
import PosternProtocol

extension PolicyAdvice {
  private static let most = 16
  private static let maxAge = 0...Int(Int32.max)

  /// The advice of a call. Its XML is built again from type and value.
  init(_ given: PolicyAdviceDescription, path: String) throws(RPCFault) {
    guard (1...256).contains(given.type.utf8.count) else {
      throw .invalidParams("type has 1 to 256 bytes", path: "\(path)/type")
    }
    guard given.authIndexType.map({ $0 == "composite_advice" }) ?? true else {
      throw .invalidParams("authIndexType must be composite_advice", path: "\(path)/authIndexType")
    }
    if given.type == Name.insufficientUserAuthentication {
      guard given.maxAge.map(Self.maxAge.contains) ?? true else {
        throw .invalidParams("maxAge is a number of seconds", path: "\(path)/maxAge")
      }
      let values = given.acrValues ?? []
      guard values.count <= 32, values.allSatisfy(Self.isACR) else {
        throw .invalidParams("acrValues are words", path: "\(path)/acrValues")
      }
      self = .insufficientUserAuthentication(acrValues: values.isEmpty ? nil : values, maxAge: given.maxAge)
      return
    }
    guard let value = given.value, (1...4096).contains(value.utf8.count) else {
      throw .invalidParams("value has 1 to 4096 bytes", path: "\(path)/value")
    }
    self.init(type: given.type, value: value, realm: given.realm)
    guard !isCompositeAdvice || CompositeAdvice.xml([self]) != nil else {
      throw .invalidParams("the advice cannot be written in XML", path: path)
    }
  }

  /// The advices of a call.
  static func given(_ list: [PolicyAdviceDescription], path: String) throws(RPCFault) -> [PolicyAdvice] {
    guard (1...most).contains(list.count) else { throw .invalidParams("1 to \(most) advices", path: path) }
    var advices: [PolicyAdvice] = []
    for (index, advice) in list.enumerated() { advices.append(try PolicyAdvice(advice, path: "\(path)/\(index)")) }
    return advices
  }

  private static func isACR(_ text: String) -> Bool {
    (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }
}
