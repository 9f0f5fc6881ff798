import Foundation
import HTTPMessages

/// Permits as another implementation reads them: Foundation, and the letter of each interface, neither stricter nor
/// laxer.
enum DecisionOracle {
  /// Whether the answer permits `resource`, the one at `index` of `count`.
  static func permits(_ input: DecisionInput, _ resource: String, at index: Int, of count: Int) -> Bool {
    let response = input.response
    guard (200..<300).contains(response.status),
      let document = try? JSONSerialization.jsonObject(with: Data(response.body), options: .fragmentsAllowed)
    else { return false }
    switch input.kind {
    case .metadata: return false
    case .evaluation: return permits(evaluation: document)
    case .evaluations:
      guard let evaluations = (document as? [String: Any])?["evaluations"] as? [Any], evaluations.count == count else {
        return false
      }
      return permits(evaluation: evaluations[index])
    case .opa:
      guard let document = document as? [String: Any], let value = member(document["result"], resource) else {
        return false
      }
      return isTrue(value) || isTrue((value as? [String: Any])?["allow"])
    case .accessManager:
      let rows = ((document as? [Any]) ?? []).filter { row in
        ((row as? [String: Any])?["resource"] as? String).map { $0.utf8.elementsEqual(resource.utf8) } ?? false
      }
      return rows.count == 1 && isTrue(((rows[0] as? [String: Any])?["actions"] as? [String: Any])?["GET"])
    }
  }

  private static func permits(evaluation: Any) -> Bool {
    guard let evaluation = evaluation as? [String: Any], isTrue(evaluation["decision"]) else { return false }
    let context = evaluation["context"] ?? NSNull()
    if context is NSNull { return true }
    guard let context = context as? [String: Any] else { return false }
    return context["error"] == nil || context["error"] is NSNull
  }

  /// The member of exactly that name: for Swift's dictionaries names that look alike are the same.
  private static func member(_ object: Any?, _ name: String) -> Any? {
    (object as? [String: Any])?.first { $0.key.utf8.elementsEqual(name.utf8) }?.value
  }

  /// The literal, not a number.
  private static func isTrue(_ value: Any?) -> Bool {
    guard let number = value as? NSNumber else { return false }
    return String(cString: number.objCType) == "c" && number.boolValue
  }

  /// The URLs that metadata may send questions to: none unless they are this decision point's.
  static func endpoints(_ input: DecisionInput) -> [String] {
    guard input.response.status == 200,
      let document = SecondReading.object(input.response.body),
      (document["policy_decision_point"] as? String)?.utf8.elementsEqual(FixedDecisionPoint.identifier.utf8) == true
    else { return [] }
    return ["access_evaluation_endpoint", "access_evaluations_endpoint"].compactMap { document[$0] as? String }
  }
}
