import Entitlements
import HTTPMessages
import PosternJSON

/// Reads answers of Adobe Pass: decisions in any order, found by the resource that they echo.
enum AdobePassReply {
  /// The published limit of a request: for more resources, an empty list means that they were too many, as servers
  /// before release 3.4.0 answered.
  private static let usualLimit = 5

  /// Returns one verdict for each of `resources`; nil where no decision is about it. `response` is the response that
  /// contains `document`.
  static func verdicts(
    in document: JSONValue, about resources: [ResourceName], of response: HTTPResponse, trace: String?
  ) throws(DecisionFault) -> [DecisionVerdict?] {
    guard let decisions = document["decisions"] else {
      // An error with a status of success.
      guard let error = EnhancedError.read(in: document, status: 0, trace: trace) else {
        throw .format("the answer has no decisions", trace: trace)
      }
      var failure = response
      failure.status = error.status
      throw DecisionFault(failure, trace: trace)
    }
    guard let rows = decisions.arrayValue else { throw .format("the decisions are no list", trace: trace) }
    if rows.isEmpty, resources.count > usualLimit {
      throw .format("the answer has no decision: there were too many resources", remedy: .shrink, trace: trace)
    }
    return try matches(rows, resources, trace: trace).map { rows in
      rows.reduce(nil) { verdict, row in merged(verdict, self.verdict(row, trace: trace), trace: trace) }
    }
  }

  /// Returns the rows about each of `resources`.
  static func matches(
    _ rows: [JSONValue], _ resources: [ResourceName], trace: String?
  ) throws(DecisionFault) -> [[JSONValue]] {
    var matches = [[JSONValue]](repeating: [], count: resources.count)
    let indexes = Dictionary(resources.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    var strangers: [(ResourceName, JSONValue)] = []
    for row in rows {
      guard let resource = row["resource"]?.stringValue else {
        throw .format("a decision names no resource", trace: trace)
      }
      if let index = indexes[ResourceName(resource)] {
        matches[index].append(row)
      } else {
        strangers.append((trimmed(resource), row))
      }
    }
    guard !strangers.isEmpty else { return matches }
    // Some servers echo a resource with a space behind it.
    let open = resources.indices.filter { matches[$0].isEmpty }
    let similar = Dictionary(grouping: open) { trimmed(resources[$0].text) }
    for (name, row) in strangers {
      guard let indexes = similar[name], indexes.count == 1 else { continue }
      matches[indexes[0]].append(row)
    }
    return matches
  }

  /// Combines two decisions about one resource.
  private static func merged(_ first: DecisionVerdict?, _ second: DecisionVerdict, trace: String?) -> DecisionVerdict {
    switch (first, second) {
    case (nil, _): return second
    case (.deny?, .deny): return first ?? second
    default:
      guard first == second else { return .fault(.item("there are contradictory decisions about it", trace: trace)) }
      return second
    }
  }

  private static func verdict(_ row: JSONValue, trace: String?) -> DecisionVerdict {
    guard let isAuthorized = row["authorized"]?.boolValue else {
      return .fault(.item("a decision is neither true nor false", trace: trace))
    }
    let isDegraded = row["source"]?.stringValue == "degradation"
    switch row["error"] {
    case nil, .null?:
      guard !isAuthorized else {
        if isDegraded { return .degraded(nil) }
        // A trial can end before the permit would.
        return .permit(lifetime: row["source"]?.stringValue == "temppass" ? .zero : nil)
      }
      return isDegraded ? .degraded(.denied(trace: trace)) : .deny(.denied(trace: trace), lifetime: nil)
    case let error?:
      guard !isAuthorized, let status = EnhancedError.read(error, status: 0, trace: trace) else {
        return .fault(.item("a decision contradicts itself: its error does not go with it", trace: trace))
      }
      let verdict = EnhancedError.verdict(status)
      guard case .deny = verdict, isDegraded || status.code == "authorization_denied_by_degradation_rule" else {
        return verdict
      }
      return .degraded(status)
    }
  }

  /// Removes white space at both ends.
  private static func trimmed(_ text: String) -> ResourceName {
    let bytes = text.utf8.drop(while: ASCII.isJSONSpace)
    let end = bytes.lastIndex { !ASCII.isJSONSpace($0) }
    return ResourceName(end.map { String(decoding: bytes[...$0], as: UTF8.self) } ?? "")
  }
}
