import PosternJSON
import PosternSupport

/// Transactions of policies: made when a policy is evaluated, confirmed by a journey, good for one request.
final class TransactionDesk: Sendable {
  /// How far one has come.
  enum Stage: String, Sendable {
    case created = "CREATED"
    case inProgress = "IN_PROGRESS"
    case completed = "COMPLETED"
  }

  struct Transaction: Sendable {
    let subject: String
    /// The request it allows: method and path.
    let resource: String
    var stage = Stage.created
  }

  private let transactions: ExpiringStore<Transaction>
  private let settings: AccessManagerSettings

  init(settings: AccessManagerSettings, clock: any EngineClock) {
    self.settings = settings
    transactions = ExpiringStore(clock: clock)
  }

  /// A new one; nil when there are too many.
  func begin(for subject: String, resource: String) -> String? {
    let id = RandomText.uuid()
    let transaction = Transaction(subject: subject, resource: resource)
    return transactions.insert(transaction, under: id, for: settings.values.transactionLife) ? id : nil
  }

  /// Begins to confirm one of that user's: false when it is unknown, another's, or has been begun before.
  func enter(_ id: String, subject: String) -> Bool {
    transactions.update(id) { transaction in
      guard transaction.subject == subject, transaction.stage == .created else { return false }
      transaction.stage = .inProgress
      return true
    } ?? false
  }

  /// The user agreed.
  func complete(_ id: String) { _ = transactions.update(id) { $0.stage = .completed } }

  /// Uses a confirmed one up, for the request it was made for.
  func redeem(_ id: String, subject: String, resource: String) -> Bool {
    guard let transaction = transactions.value(id), transaction.subject == subject,
      transaction.resource == resource, transaction.stage == .completed
    else { return false }
    return transactions.take(id) != nil
  }

  /// Forgets all.
  func removeAll() { transactions.removeAll() }

  /// All that last, by identifier.
  var json: JSONValue {
    .object(JSONObject(transactions.all.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value.stage.rawValue)) }))
  }
}
