package import PosternSupport

/// The parts that the calls of all connections share: the configuration in force, the methods, and the steps of the
/// chain.
package final class CallEnvironment: Sendable {
  let methods: MethodTable
  /// The configuration in force. A call keeps it from its start to its end.
  let snapshot: @Sendable () -> ConfigurationSnapshot
  package let clock: any EngineClock
  /// Threads for work that may occupy a processor for long.
  let pool: FairPool
  /// Threads for short tasks that calls start in addition; in `pool` they would wait for long ones.
  let background = FairPool()
  package let rateLimit: RateLimitStep
  package let concurrency: ConcurrencyStep
  let trace: TraceStep
  package let audit: AuditStep
  package let approval: ApprovalStep
  let deadline: DeadlineStep
  package let log: CallLog

  package init(
    methods: MethodTable, snapshot: @escaping @Sendable () -> ConfigurationSnapshot, clock: any EngineClock,
    pool: FairPool, rateLimit: RateLimitStep, concurrency: ConcurrencyStep, trace: TraceStep, audit: AuditStep,
    approval: ApprovalStep, log: CallLog
  ) {
    self.methods = methods
    self.snapshot = snapshot
    self.clock = clock
    self.pool = pool
    self.rateLimit = rateLimit
    self.concurrency = concurrency
    self.trace = trace
    self.audit = audit
    self.approval = approval
    deadline = DeadlineStep(clock: clock)
    self.log = log
  }
}
